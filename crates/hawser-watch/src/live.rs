//! The cluster as a watch knows it, for people who look at it. Pure.
//!
//! What a head that is watched by itself reads of itself is new each second; what its Pacemaker believes of the others is as
//! old as its last look. A watch that asks all heads has both ends of everything. Of what nobody tells, the page says that it
//! does not know it. Colours follow what was read and the alarms that stand: nothing is judged here.

use std::collections::BTreeMap;
use std::net::IpAddr;

use hawser_model::cluster_file::{ClusterFile, LinkEntry, NodeEntry, Pool, Role};
use hawser_model::drops::DropRecord;
use hawser_model::names::{HostName, InterfaceName};
use hawser_model::output::cluster::{ClusterStatus, NodeCondition, PoolStatus};
use hawser_model::output::incident::IncidentsReport;
use hawser_model::output::live::{
    EndKnown, Light, LiveAddress, LiveEnd, LiveHead, LiveIncident, LiveIncidents, LiveLink,
    LivePage, LivePool, NotReached, OwnHead, OwnPort, PoolAt,
};
use hawser_model::output::watch::{Alarm, HeadReading, LinkReading, LinkState};
use hawser_model::units::Packets;

use crate::gaps::not_known;
use crate::group::suspects;
use crate::shown::{Shown, ShownHead};

/// So many incidents are shown.
pub const INCIDENTS: usize = 20;

/// Of what stood in the way of telling more, so much is shown.
const GAPS: usize = 10;

/// What is shown, beside the file.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
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
pub fn live_page(file: &ClusterFile, known: Known<'_>) -> LivePage {
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
    known: Known<'a>,
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
        let (name, own): (&HostName, _) = (node.name.get(), self.known.own);
        let what = match (is_on(node, link), self.shown(name)) {
            (false, _) => EndKnown::NotThere,
            (true, Some(shown)) => own_port(link, node, shown),
            // What one head alone knows of another is the way to it.
            (true, None) => match own.and_then(|own| self.way(link, own, name)) {
                Some(way) => EndKnown::Peer(way),
                None => EndKnown::NotKnown,
            },
        };
        let ways = match (own, &what) {
            (None, EndKnown::Port(_) | EndKnown::NoPort) => self.ways(link, name),
            _ => Vec::new(),
        };
        let base = match &what {
            EndKnown::Port(port) if port.up && port.carrier => Light::Good,
            EndKnown::Port(_) | EndKnown::NoPort => Light::Bad,
            EndKnown::Peer(way) => of_way(way),
            EndKnown::NotKnown | EndKnown::NotThere => Light::Unknown,
        };
        let base = ways.iter().map(of_way).fold(base, Light::max);
        let about = |alarm: &Alarm| {
            let place = &alarm.place;
            let (host, peer) = (place.host.as_ref(), place.peer.as_ref());
            let here = match own {
                // What is wrong with the way to a peer is shown there.
                Some(own) if own == name => host.is_none_or(|host| host == name) && peer.is_none(),
                Some(_) => [host, peer].contains(&Some(name)),
                None => [host, peer].contains(&Some(name)) || host.is_none() && peer.is_none(),
            };
            place.link.as_ref() == Some(link.name.get()) && here
        };
        LiveEnd {
            light: self.light(base, about),
            what,
            ways,
        }
    }

    /// The way from a head to another one over a link.
    fn way(&self, link: &LinkEntry, from: &HostName, to: &HostName) -> Option<LinkReading> {
        let mut ways = self.reading(from)?.links.iter();
        ways.find(|way| way.name == *link.name.get() && way.peer == *to)
            .cloned()
    }

    /// The ways from a head to all others over a link.
    fn ways(&self, link: &LinkEntry, from: &HostName) -> Vec<LinkReading> {
        let ways = self.reading(from).into_iter().flat_map(|head| &head.links);
        ways.filter(|way| way.name == *link.name.get())
            .cloned()
            .collect()
    }

    fn pool(&self, pool: &Pool) -> LivePool {
        let name: &str = &pool.name;
        let status = self.status.and_then(|status| {
            let mut pools = status.pools.iter();
            pools.find(|status| status.name == name)
        });
        let reading = |head: &&HeadReading| {
            let mut pools = head.pools.iter();
            pools.any(|pool| pool.name == name && pool.here == Some(true))
        };
        let here = self.readings.iter().find(reading);
        let used = here.and_then(|head| {
            let mut pools = head.pools.iter();
            pools.find(|pool| pool.name == name)?.used_percent
        });
        let export = here.and_then(|head| {
            let mut exports = head.exports.iter();
            exports.find(|export| export.pool == name)
        });
        let on = match (here, status) {
            (Some(head), _) => PoolAt::Head(head.name.clone()),
            (None, Some(status)) => match &status.active_on {
                Some(head) => PoolAt::Head(head.clone()),
                None => PoolAt::Nowhere,
            },
            (None, None) => PoolAt::NotKnown,
        };
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
            used_percent: used,
            offered,
            missing,
            addresses: addresses(pool, status),
            on,
        }
    }
}

/// What is shown, unless none of all heads answered: then nobody tells what the cluster is.
fn told(known: Known<'_>) -> Option<&Shown> {
    let shown = known.shown?;
    (known.own.is_some() || !shown.heads.is_empty()).then_some(shown)
}

fn of_way(way: &LinkReading) -> Light {
    match way.state {
        LinkState::Up => Light::Good,
        LinkState::Down => Light::Bad,
        LinkState::Unknown => Light::Unknown,
    }
}

fn own_port(link: &LinkEntry, node: &NodeEntry, shown: &ShownHead) -> EndKnown {
    if shown.interfaces.is_empty() {
        return EndKnown::NotKnown;
    }
    let named = node.address_on(link.name.as_str()).map(|at| *at.get());
    let its = |address: &IpAddr| match (named, &link.network) {
        (Some(named), _) => *address == named,
        (None, Some(network)) => network.0.contains(address),
        (None, None) => false,
    };
    let mut all = shown.interfaces.iter();
    let found = all.find(|(_, port)| port.addresses.iter().any(|(address, _)| its(address)));
    match found {
        Some((name, port)) => EndKnown::Port(OwnPort {
            interface: name.clone(),
            up: port.up,
            carrier: port.carrier,
            speed: port.speed,
            dropped: dropped_on(name, &shown.dropped_now),
        }),
        None => EndKnown::NoPort,
    }
}

/// What was dropped on an interface, by reason; where the kernel names none, by the function that dropped it.
fn dropped_on(name: &InterfaceName, drops: &[DropRecord]) -> BTreeMap<String, Packets> {
    let mut all = BTreeMap::new();
    let own = drops
        .iter()
        .filter(|drop| drop.interface.as_ref() == Some(name));
    for drop in own {
        *all.entry(drop.words()).or_default() += drop.packets;
    }
    all
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

/// What of a pool does not run where it is, as Pacemaker has it, and what its head does not offer of it.
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
