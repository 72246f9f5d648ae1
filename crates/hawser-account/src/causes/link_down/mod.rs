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
use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::names::{HostName, InterfaceName, LinkName};
use hawser_model::units::Packets;
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words, counted, host, interface};
use crate::causes::claims::Lost;
use crate::causes::pattern::{Pattern, localize};
use crate::losses::{Loss, Losses, packets};
use crate::view::{Path, View};

#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum LinkDown {
    /// The interface says so; without a host, those of all hosts.
    NoCarrier {
        /// Zero, as in `/sys/class/net/INTERFACE/carrier`.
        carrier: u8,
        ports_without_carrier: u64,
        lost_packets: Packets,
    },
    /// Nothing arrives.
    Silent {
        pattern: Pattern,
        directions_affected: u64,
        directions_measured: u64,
        #[serde(flatten)]
        lost: Lost,
    },
}

impl CheckCause for LinkDown {
    const STANDING: bool = true;

    fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Found<Self>> {
        let mut found = without_carrier(view, losses);
        found.extend(silent(view, losses));
        found
    }

    fn cost(&self) -> Packets {
        match self {
            Self::NoCarrier { lost_packets, .. } => *lost_packets,
            Self::Silent { lost, .. } => lost.lost_packets,
        }
    }
}

impl Cause for LinkDown {
    const CODE: &'static str = "link-down";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        let link = at.link.as_ref().map_or("on it", |link| link.as_str());
        match self {
            Self::NoCarrier {
                ports_without_carrier,
                ..
            } if at.host.is_none() => Words {
                text: format!(
                    "No port of link {link} has carrier ({}): {} is off or cut off.",
                    counted(*ports_without_carrier, "host"),
                    at.object.as_deref().unwrap_or("its switch"),
                ),
                fix: "Power and uplinks of the switch; with two hosts and no switch, the one cable \
                      between them."
                    .to_owned(),
            },
            Self::NoCarrier { .. } => Words {
                text: format!(
                    "{} of {} is up but has no carrier: link {link} is dead for this host.",
                    interface(at),
                    host(at),
                ),
                fix: format!(
                    "Cable, transceiver, switch port: `ethtool {}` on {} should say \"Link \
                     detected: yes\". Is the port enabled, and do both ends agree on the speed?",
                    interface(at),
                    host(at),
                ),
            },
            Self::Silent { pattern, lost, .. } => Words {
                text: format!(
                    "Nothing at all arrives: {} were sent, small and large, and no host dropped them. {}",
                    counted(lost.sent_packets.0, "packet"),
                    pattern.suspect(at),
                ),
                fix: "Both interfaces say they have carrier, so look between: is the switch on, are \
                      both ports in the same VLAN, is a media converter or bridge down? `arping` from one \
                      host while `tcpdump -e` runs on the other shows how far frames come."
                    .to_owned(),
            },
        }
    }
}

fn without_carrier(view: &View<'_>, losses: &mut Losses) -> Vec<Found<LinkDown>> {
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
        let switch = view.switch(&link).filter(|_| all);
        for (host, name, _) in dead.iter().take(if all { 1 } else { dead.len() }) {
            let explained = losses.claim(LinkDown::CODE, |l| {
                l.path.link == link && (all || l.path.from == *host || l.path.to == *host)
            });
            let place = Place {
                host: (!all).then(|| host.clone()),
                link: Some(link.clone()),
                interface: (!all).then(|| (*name).clone()),
                object: switch.clone(),
                ..Place::default()
            };
            found.push(Found {
                severity: Severity::Error,
                confidence: Confidence::Certain,
                place,
                evidence: LinkDown::NoCarrier {
                    carrier: 0,
                    ports_without_carrier: dead.len() as u64,
                    lost_packets: Packets(packets(&explained)),
                },
            });
        }
    }
    found
}

fn silent(view: &View<'_>, losses: &mut Losses) -> Vec<Found<LinkDown>> {
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
            let explained: Vec<Loss> =
                losses.claim(LinkDown::CODE, |l| spot.paths.contains(&l.path));
            Found {
                severity: Severity::Error,
                confidence: Confidence::Likely,
                place: spot.place,
                evidence: LinkDown::Silent {
                    pattern: spot.pattern,
                    directions_affected: spot.paths.len() as u64,
                    directions_measured: measured.len() as u64,
                    lost: Lost::of(view, &explained),
                },
            }
        })
        .collect()
}
