//! A link is dead: the interface is up but has no carrier, or it has one and still nothing at
//! all passes a direction (a switch that is off behind a media converter, a bridge that is
//! down, a wrong VLAN). Small and large packets alike; that is what tells it from an MTU
//! black hole and from a filter.
//!
//! Evidence: `IFF_LOWER_UP` is not set: certain. Or: every packet of every phase was lost
//! without a host naming a drop, and no layer-2 hello was heard either: likely. An unresolved
//! neighbour on a link that is dead both ways is the same cause, since ARP needs it too.
//! An error. Cases: `link-down-no-carrier`,
//! `link-down-switch`, `link-down-silent`.

use std::collections::{BTreeMap, BTreeSet};

use hawser_model::account::Layer;
use hawser_model::finding::{Confidence, Finding, Place, Severity};
use hawser_model::names::{HostName, InterfaceName, LinkName};

use super::Cause;
use super::pattern::localize;
use super::support::Draft;
use crate::losses::{Loss, Losses, packets};
use crate::view::{Path, View};

pub(super) const CAUSE: Cause = Cause {
    code: "link-down",
    find,
};

fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Finding> {
    let mut found = without_carrier(view, losses);
    found.extend(silent(view, losses));
    found
}

fn without_carrier(view: &View<'_>, losses: &mut Losses) -> Vec<Finding> {
    let mut ports: BTreeMap<LinkName, Vec<(HostName, &InterfaceName, bool)>> = BTreeMap::new();
    for ((link, host), (name, interface)) in view.ports() {
        let dead = interface.up && !interface.carrier;
        ports.entry(link).or_default().push((host, name, dead));
    }
    let mut found = Vec::new();
    for (link, ports) in ports {
        let dead: Vec<_> = ports.iter().filter(|(_, _, dead)| *dead).collect();
        // No port of the link has carrier: that is its switch, once, and not a cable a host.
        let all = dead.len() > 1 && dead.len() == ports.len();
        let switch = view
            .case
            .topology
            .link(&link)
            .and_then(|l| l.switch.clone());
        for (host, name, _) in dead.iter().take(if all { 1 } else { dead.len() }) {
            let explained = losses.claim(CAUSE.code, |l| {
                l.path.link == link && (all || l.path.from == *host || l.path.to == *host)
            });
            let place = Place {
                host: (!all).then(|| host.clone()),
                link: Some(link.clone()),
                interface: (!all).then(|| (*name).clone()),
                object: switch
                    .clone()
                    .filter(|_| all)
                    .map(|s| format!("switch {s}")),
                ..Place::default()
            };
            found.push(
                Draft::new(CAUSE.code, Severity::Error, Confidence::Certain, place)
                    .number("carrier", 0)
                    .number("ports_without_carrier", dead.len() as u64)
                    .number("lost_packets", packets(&explained))
                    .done(),
            );
        }
    }
    found
}

fn silent(view: &View<'_>, losses: &mut Losses) -> Vec<Finding> {
    let measured = view.paths();
    let silent: BTreeSet<Path> = measured
        .iter()
        .filter(|path| view.received(path) == 0 && view.hello_passed(path) != Some(true))
        .cloned()
        .collect();
    let dead: BTreeSet<Path> = silent
        .iter()
        .filter(|path| {
            let both_ways = silent.contains(&path.back());
            let mut open = losses.open().filter(|l| l.path == **path).peekable();
            open.peek().is_some()
                && open.all(|l| match l.layer {
                    None | Some(Layer::BetweenHosts) => true,
                    Some(Layer::Neighbour) => both_ways,
                    Some(_) => false,
                })
        })
        .cloned()
        .collect();
    localize(&dead, &measured)
        .into_iter()
        .map(|spot| {
            let explained: Vec<Loss> = losses.claim(CAUSE.code, |l| spot.paths.contains(&l.path));
            Draft::new(CAUSE.code, Severity::Error, Confidence::Likely, spot.place)
                .name("pattern", spot.pattern.name())
                .number("directions_affected", spot.paths.len() as u64)
                .number("directions_measured", measured.len() as u64)
                .losses(view, &explained)
                .done()
        })
        .collect()
}
