//! The cluster as the head that is watched knows it, for people who look at it. Pure.
//!
//! What a head reads of itself is new each second; what its Pacemaker believes of the others is as old as its last look.
//! Of what nobody tells this head it says that it does not know it. Colours follow what was read and the alarms that
//! stand: nothing is judged here.

use std::net::IpAddr;

use hawser_model::cluster_file::{ClusterFile, LinkEntry, NodeEntry, Pool, Role};
use hawser_model::names::HostName;
use hawser_model::output::cluster::{ClusterStatus, NodeCondition, PoolStatus};
use hawser_model::output::incident::IncidentsReport;
use hawser_model::output::live::{
    EndKnown, Light, LiveAddress, LiveEnd, LiveHead, LiveIncident, LiveIncidents, LiveLink,
    LivePage, LivePool, OwnHead, OwnPort, PoolAt,
};
use hawser_model::output::watch::{Alarm, HeadReading, LinkState};

use crate::group::suspects;
use crate::resident::Shown;

/// So many incidents are shown.
pub const INCIDENTS: usize = 20;

/// Of what stood in the way of telling more, so much is shown.
const GAPS: usize = 10;

/// What is shown, beside the file.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// What the watch shows. Absent: nothing was read yet.
    pub shown: Option<&'a Shown>,
    /// Why the last look at the cluster failed, if it did.
    pub problem: Option<&'a str>,
    /// For how many seconds nothing was read, if that is too long.
    pub old_s: Option<u64>,
    /// What the head's own logs tell. Absent: they were not read yet.
    pub incidents: Option<&'a LiveIncidents>,
}

/// The page's model.
pub fn live_page(file: &ClusterFile, own: &HostName, known: Known<'_>) -> LivePage {
    let all = All {
        file,
        own,
        known,
        reading: known.shown.and_then(|shown| shown.reading.heads.first()),
        status: known.shown.and_then(|shown| shown.status.as_ref()),
        alarms: known.shown.map_or(&[], |shown| &shown.reading.alarms),
    };
    LivePage {
        cluster: file.cluster.name.to_string(),
        own: own.clone(),
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
        incidents: known.incidents.cloned().unwrap_or_default(),
        not_known: all.not_known(),
    }
}

/// What a head's own logs tell, the newest first, a line each.
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
    own: &'a HostName,
    known: Known<'a>,
    reading: Option<&'a HeadReading>,
    status: Option<&'a ClusterStatus>,
    alarms: &'a [Alarm],
}

impl All<'_> {
    /// A colour, unless an alarm about the same thing has a worse one.
    fn light(&self, base: Light, about: impl Fn(&Alarm) -> bool) -> Light {
        let alarms = self.alarms.iter().filter(|alarm| about(alarm));
        let worst = alarms.map(|alarm| Light::from(alarm.severity)).max();
        worst.map_or(base, |worst| worst.max(base))
    }

    fn condition(&self, name: &HostName) -> Option<NodeCondition> {
        self.known.shown?.members.get(name).copied()
    }

    fn head(&self, node: &NodeEntry) -> LiveHead {
        let name: &HostName = node.name.get();
        let condition = self.condition(name);
        let own = self.known.shown.filter(|_| name == self.own);
        let own = own.map(|shown| OwnHead {
            corosync: shown.corosync,
            pacemaker: shown.pacemaker,
            quorate: self.reading.and_then(|head| head.quorate),
        });
        let dead = own.as_ref().is_some_and(|own| {
            !own.corosync || own.pacemaker == Some(false) || own.quorate == Some(false)
        });
        let base = match condition {
            _ if dead => Light::Bad,
            None => Light::Unknown,
            Some(NodeCondition::Online) => Light::Good,
            Some(NodeCondition::Unclean) => Light::Bad,
            Some(
                NodeCondition::Standby
                | NodeCondition::Maintenance
                | NodeCondition::Starting
                | NodeCondition::Offline,
            ) => Light::Warning,
        };
        LiveHead {
            light: self.light(base, |alarm| {
                alarm.place.host.as_ref() == Some(name) && alarm.place.link.is_none()
            }),
            name: name.clone(),
            condition,
            own,
        }
    }

    fn link(&self, link: &LinkEntry) -> LiveLink {
        let nodes = self.file.nodes.iter();
        LiveLink {
            name: link.name.get().clone(),
            carries: carries(link),
            switch: link.switch.clone(),
            suspect: link
                .switch
                .as_ref()
                .is_some_and(|switch| self.alarms.iter().any(|alarm| suspects(alarm, switch))),
            ends: nodes.map(|node| self.end(link, node)).collect(),
        }
    }

    fn end(&self, link: &LinkEntry, node: &NodeEntry) -> LiveEnd {
        let (name, own): (&HostName, _) = (node.name.get(), node.name.get() == self.own);
        let what = match (is_on(node, link), own) {
            (false, _) => EndKnown::NotThere,
            (true, true) => self.own_port(link, node),
            (true, false) => self.peer(link, name),
        };
        let base = match &what {
            EndKnown::Port(port) if port.up && port.carrier => Light::Good,
            EndKnown::Port(_) | EndKnown::NoPort => Light::Bad,
            EndKnown::Peer(link) => match link.state {
                LinkState::Up => Light::Good,
                LinkState::Down => Light::Bad,
                LinkState::Unknown => Light::Unknown,
            },
            EndKnown::NotKnown | EndKnown::NotThere => Light::Unknown,
        };
        let about = |alarm: &Alarm| {
            let place = &alarm.place;
            let (host, peer) = (place.host.as_ref(), place.peer.as_ref());
            let here = match own {
                // What is wrong with the way to a peer is shown there.
                true => host.is_none_or(|host| host == name) && peer.is_none(),
                false => [host, peer].contains(&Some(name)),
            };
            place.link.as_ref() == Some(link.name.get()) && here
        };
        LiveEnd {
            light: self.light(base, about),
            what,
        }
    }

    fn own_port(&self, link: &LinkEntry, node: &NodeEntry) -> EndKnown {
        let interfaces = match self.known.shown {
            Some(shown) if !shown.interfaces.is_empty() => &shown.interfaces,
            _ => return EndKnown::NotKnown,
        };
        let named = node.address_on(link.name.as_str()).map(|at| *at.get());
        let its = |address: &IpAddr| match (named, &link.network) {
            (Some(named), _) => *address == named,
            (None, Some(network)) => network.0.contains(address),
            (None, None) => false,
        };
        let mut all = interfaces.iter();
        let found = all.find(|(_, port)| port.addresses.iter().any(|(address, _)| its(address)));
        match found {
            Some((name, port)) => EndKnown::Port(OwnPort {
                interface: name.clone(),
                up: port.up,
                carrier: port.carrier,
                speed: port.speed,
            }),
            None => EndKnown::NoPort,
        }
    }

    fn peer(&self, link: &LinkEntry, peer: &HostName) -> EndKnown {
        let mut links = self.reading.into_iter().flat_map(|head| &head.links);
        let found = links.find(|one| one.name == *link.name.get() && one.peer == *peer);
        found.map_or(EndKnown::NotKnown, |found| EndKnown::Peer(found.clone()))
    }

    fn pool(&self, pool: &Pool) -> LivePool {
        let name: &str = &pool.name;
        let status = self.status.and_then(|status| {
            let mut pools = status.pools.iter();
            pools.find(|status| status.name == name)
        });
        let mut pools = self.reading.into_iter().flat_map(|head| &head.pools);
        let here = pools.find(|reading| reading.name == name);
        let mut exports = self.reading.into_iter().flat_map(|head| &head.exports);
        let export = exports.find(|export| export.pool == name);
        let on = match (here.and_then(|here| here.here), status) {
            (Some(true), _) => PoolAt::Head(self.own.clone()),
            (_, Some(status)) => match &status.active_on {
                Some(head) => PoolAt::Head(head.clone()),
                None => PoolAt::Nowhere,
            },
            (_, None) => PoolAt::NotKnown,
        };
        let ours = on == PoolAt::Head(self.own.clone());
        let export = export.filter(|_| ours);
        let missing = missing(status, export.map_or(&[], |export| &export.missing));
        let offered = export.and_then(|export| export.offered);
        let base = match &on {
            PoolAt::Nowhere => Light::Bad,
            PoolAt::NotKnown => Light::Unknown,
            PoolAt::Head(_) if offered == Some(false) || !missing.is_empty() => Light::Bad,
            PoolAt::Head(_) => Light::Good,
        };
        LivePool {
            name: name.to_owned(),
            light: self.light(base, |alarm| alarm.place.object.as_deref() == Some(name)),
            used_percent: here.filter(|_| ours).and_then(|here| here.used_percent),
            offered,
            missing,
            addresses: addresses(pool, status),
            on,
        }
    }

    /// What one head cannot know, of this cluster and at this moment.
    fn not_known(&self) -> Vec<String> {
        let own = self.own;
        let others: Vec<&str> = self
            .file
            .nodes
            .iter()
            .map(|node| node.name.as_str())
            .filter(|name| *name != own.as_str())
            .collect();
        let mut all = Vec::new();
        if self.known.shown.is_none() {
            all.push(format!("{own} has not read itself yet."));
        } else if self.status.is_none() {
            all.push(format!(
                "{own} has not looked at the cluster yet: what the heads are and where pools run is not known."
            ));
        }
        if let Some(why) = self.known.problem {
            all.push(format!(
                "The last look at the cluster failed, so what the heads are and where pools run may be old: {why}"
            ));
        }
        if !others.is_empty() {
            let others = others.join(" and ");
            all.push(format!(
                "{own} asks itself and no other head. What {others} is or has, is what Pacemaker on {own} believes; the ports \
                 of {others}, what is offered there, and whether the clocks agree is not known here."
            ));
        }
        if others.len() > 1 {
            all.push(format!(
                "How the links are between {} is not known here.",
                others.join(" and ")
            ));
        }
        all.push("No switch is asked: of a switch only the links over it are known.".to_owned());
        all
    }
}

/// Whether a node is on a link. A node without addresses in the file is on all of them.
fn is_on(node: &NodeEntry, link: &LinkEntry) -> bool {
    node.addresses.is_empty() || node.address_on(link.name.as_str()).is_some()
}

fn carries(link: &LinkEntry) -> String {
    let roles = [
        (Role::Heartbeat, "heartbeat"),
        (Role::San, "clients"),
        (Role::Replication, "replication"),
    ];
    let roles = roles.into_iter().filter(|(role, _)| link.role.has(*role));
    let words: Vec<&str> = roles.map(|(_, word)| word).collect();
    words.join(", ")
}

/// What of a pool does not run where it is, as Pacemaker has it, and what this head does not offer of it.
fn missing(status: Option<&PoolStatus>, not_offered: &[String]) -> Vec<String> {
    let runs = status.filter(|status| status.active_on.is_some());
    let exports = runs.into_iter().flat_map(|status| &status.exports);
    let down = exports.filter(|export| !export.up);
    let down = down.map(|export| format!("{} does not run", export.resource));
    let addresses = runs.into_iter().flat_map(|status| &status.addresses);
    let gone = addresses.filter(|address| !address.up);
    let gone = gone.map(|address| format!("{} is not up", address.address));
    let not_offered = not_offered
        .iter()
        .map(|what| format!("{what} is not offered"));
    down.chain(gone).chain(not_offered).collect()
}

fn addresses(pool: &Pool, status: Option<&PoolStatus>) -> Vec<LiveAddress> {
    let up = |address: &IpAddr| {
        let mut all = status?.addresses.iter();
        Some(all.find(|one| one.address == *address)?.up)
    };
    let mut all = Vec::new();
    for (link, of_link) in &pool.addresses {
        all.extend(of_link.as_slice().iter().map(|address| LiveAddress {
            address: *address,
            link: link.get().clone(),
            up: up(address),
        }));
    }
    all
}
