//! The links of the page, and their ends.

use std::collections::BTreeMap;
use std::net::IpAddr;

use hawser_model::cluster_file::{LinkEntry, NodeEntry, Role};
use hawser_model::drops::DropRecord;
use hawser_model::finding::Place;
use hawser_model::names::{HostName, InterfaceName};
use hawser_model::output::live::{EndKnown, Light, LiveEnd, LiveLink, OwnPort};
use hawser_model::output::watch::{LinkReading, LinkState};
use hawser_model::units::Packets;

use super::All;
use crate::group::suspects;
use crate::shown::ShownHead;

impl All<'_> {
    pub(super) fn link(&self, link: &LinkEntry) -> LiveLink {
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
        let about = |place: &Place| {
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
            light: self.light(base, |alarm| {
                about(&alarm.place) || alarm.parts.iter().any(about)
            }),
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
            rates: shown.rates.get(name).copied(),
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
