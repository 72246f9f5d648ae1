//! The cluster as a watch knows it, for people who look at it. Pure.
//!
//! What a head that is watched by itself reads of itself is new each second; what its Pacemaker believes of the others is as
//! old as its last look. A watch that asks all heads has both ends of everything. Of what nobody tells, the page says that it
//! does not know it. Colours follow what was read and the alarms that stand: nothing is judged here.

mod devices;
mod link;
mod pool;

use hawser_model::cluster_file::{ClusterFile, NodeEntry};
use hawser_model::names::HostName;
use hawser_model::output::cluster::{ClusterStatus, NodeCondition};
use hawser_model::output::incident::IncidentsReport;
use hawser_model::output::live::{
    Light, LiveHead, LiveIncident, LiveIncidents, LivePage, NotReached, OwnHead,
};
use hawser_model::output::watch::{Alarm, HeadReading};

use crate::gaps::not_known;
use crate::shown::{Shown, ShownHead};

/// So many incidents are shown.
pub const INCIDENTS: usize = 20;

/// Of what stood in the way of telling more, so much is shown.
const GAPS: usize = 10;

/// What is shown, beside the file.
#[derive(Clone, Copy, Debug)]
pub struct LiveInput<'a> {
    /// The head that watches, which asks itself alone. Absent: all heads are asked.
    pub own: Option<&'a HostName>,
    /// What the watch shows. Absent: nothing was read yet.
    pub shown: Option<&'a Shown>,
    /// Why the last look at the cluster failed, if it did.
    pub problem: Option<&'a str>,
    /// For how many seconds nothing was read, if that is too long.
    pub old_s: Option<u64>,
    /// What the logs tell. Absent: they were not read yet.
    pub incidents: Option<&'a LiveIncidents>,
}

/// The page's model.
pub fn live_page(file: &ClusterFile, known: LiveInput<'_>) -> LivePage {
    let all = All {
        file,
        known,
        readings: known.shown.map_or(&[], |shown| &shown.reading.heads),
        status: told(known).and_then(|shown| shown.status.as_ref()),
        alarms: known.shown.map_or(&[], |shown| &shown.reading.alarms),
    };
    LivePage {
        cluster: file.cluster.name.to_string(),
        own: known.own.cloned(),
        read_at: known.shown.map(|shown| shown.reading.read_at),
        old_s: known.old_s,
        asked_at: all.status.and(known.shown.and_then(|shown| shown.asked_at)),
        heads: file.nodes.iter().map(|node| all.head(node)).collect(),
        links: file.links.iter().map(|link| all.link(link)).collect(),
        pools: file.pools.iter().map(|pool| all.pool(pool)).collect(),
        alarms: all.alarms.to_vec(),
        if_lost: all
            .status
            .map(|status| status.if_lost.clone())
            .unwrap_or_default(),
        running: known.shown.and_then(|shown| shown.running.clone()),
        incidents: known.incidents.cloned().unwrap_or_default(),
        not_known: not_known(file, known),
    }
}

/// What logs tell, the newest first, a line each.
pub fn newest(report: &IncidentsReport) -> LiveIncidents {
    let newest = report.incidents.iter().rev().take(INCIDENTS);
    let newest = newest.map(|incident| LiveIncident {
        id: incident.id.clone(),
        began: incident.began.clone(),
        away: incident.away(),
        trigger: incident.trigger.clone(),
    });
    LiveIncidents {
        read: true,
        newest: newest.collect(),
        older: report.incidents.len().saturating_sub(INCIDENTS),
        gaps: report.gaps.iter().take(GAPS).cloned().collect(),
    }
}

struct All<'a> {
    file: &'a ClusterFile,
    known: LiveInput<'a>,
    readings: &'a [HeadReading],
    status: Option<&'a ClusterStatus>,
    alarms: &'a [Alarm],
}

impl<'a> All<'a> {
    /// A colour, unless an alarm about the same thing has a worse one.
    fn light(&self, base: Light, about: impl Fn(&Alarm) -> bool) -> Light {
        let alarms = self.alarms.iter().filter(|alarm| about(alarm));
        let worst = alarms.map(|alarm| Light::from(alarm.severity)).max();
        worst.map_or(base, |worst| worst.max(base))
    }

    fn reading(&self, name: &HostName) -> Option<&'a HeadReading> {
        self.readings.iter().find(|head| head.name == *name)
    }

    /// What was read of a head itself.
    fn shown(&self, name: &HostName) -> Option<&'a ShownHead> {
        self.known.shown?.heads.get(name)
    }

    fn head(&self, node: &NodeEntry) -> LiveHead {
        let name: &HostName = node.name.get();
        let condition = told(self.known).and_then(|shown| shown.members.get(name).copied());
        let reading = self.reading(name);
        let own = self.shown(name).map(|shown| OwnHead {
            corosync: shown.corosync,
            pacemaker: shown.pacemaker,
            quorate: reading.and_then(|head| head.quorate),
        });
        let not_reached = reading.and_then(|head| {
            Some(NotReached {
                why: head.unreached.clone()?,
                seen_at: head.seen_at,
            })
        });
        let dead = own.as_ref().is_some_and(|own| {
            !own.corosync || own.pacemaker == Some(false) || own.quorate == Some(false)
        });
        // Without a cluster file a host that answers is as it should be.
        let hosts_alone = self.file.cluster.name.is_empty();
        let base = match condition {
            _ if dead && !hosts_alone => Light::Bad,
            None if hosts_alone && own.is_some() => Light::Good,
            None | Some(NodeCondition::Unknown) => Light::Unknown,
            Some(NodeCondition::Online) => Light::Good,
            Some(NodeCondition::Unclean) => Light::Bad,
            Some(
                NodeCondition::Standby
                | NodeCondition::Maintenance
                | NodeCondition::Starting
                | NodeCondition::Offline,
            ) => Light::Warning,
        };
        let base = match not_reached {
            Some(_) => base.max(Light::Unknown),
            None => base,
        };
        LiveHead {
            light: self.light(base, |alarm| {
                alarm.place.host.as_ref() == Some(name) && alarm.place.link.is_none()
            }),
            name: name.clone(),
            condition,
            own: own.filter(|_| !hosts_alone),
            not_reached,
        }
    }
}

/// What is shown, unless none of all heads answered: then nobody tells what the cluster is.
fn told(known: LiveInput<'_>) -> Option<&Shown> {
    let shown = known.shown?;
    (known.own.is_some() || !shown.heads.is_empty()).then_some(shown)
}
