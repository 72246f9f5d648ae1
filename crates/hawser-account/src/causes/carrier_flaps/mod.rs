//! The carrier of a port goes and comes back while the check runs: a bad transceiver or cable, a port of the switch, energy
//! saving that the two ends do not agree on, a driver that resets its card. Each time everything on the way is lost, and the
//! kernel forgets the neighbours of the port (`neigh_carrier_down`, `net/core/neighbour.c`), so packets wait for their
//! addresses for up to a second more: an unresolved neighbour here, a loss between the hosts there, from one cause.
//!
//! Evidence: `IFLA_CARRIER_CHANGES` of a link's port moved in the windows. It explains what was lost for want of a neighbour,
//! between the hosts and in the sending driver in long runs, and without a place, in the measurements of that port in which it moved. Certain. An error;
//! a warning if nothing was lost for it. Cases: `carrier-flaps`, `carrier-flaps-switch`, `carrier-flaps-lossless`,
//! `carrier-flaps-beside-cable`.

use std::collections::{BTreeMap, BTreeSet};

use hawser_model::account::Layer;
use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::names::{HostName, InterfaceName, LinkName};
use hawser_model::units::Packets;
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words, counted, host, interface};
use crate::causes::claims::Lost;
use crate::losses::{Loss, Losses};
use crate::packets::facts::Side;
use crate::view::{Path, View};

#[derive(Serialize)]
pub(crate) struct CarrierFlaps {
    carrier_changes: u64,
    /// Ports of the link whose carrier changed.
    ports_changed: u64,
    /// None where it cost nothing.
    #[serde(flatten)]
    lost: Option<Lost>,
}

/// What a carrier that goes loses between the hosts comes in a row: at least so many packets a run, on average.
const RUN: u64 = 10;

/// A port of a link.
type Port = (LinkName, HostName);

/// How often the carrier of a port changed, and on which paths while they were measured.
struct Flaps<'a> {
    interface: &'a InterfaceName,
    changes: u64,
    paths: BTreeSet<Path>,
}

/// The interface of a port and what is under it (VLAN parent, bond members), the lowest first.
fn devices<'a>(view: &View<'a>, port: &Port, own: &'a InterfaceName) -> Vec<&'a InterfaceName> {
    let mut phases = view.phases.iter().flat_map(|phase| {
        let sides = [Side::Sender, Side::Receiver];
        sides.map(|side| (&phase.facts, side))
    });
    let on_it = phases.find(|(facts, side)| {
        *facts.link() == port.0
            && *facts.host(*side) == port.1
            && facts.interface(*side).is_some_and(|(name, _)| name == own)
    });
    let mut all = on_it.map_or_else(Vec::new, |(facts, side)| facts.beneath(side));
    all.push(own);
    all
}

/// What one device's carrier did.
fn flaps_of<'a>(view: &View<'a>, port: &Port, interface: &'a InterfaceName) -> Flaps<'a> {
    let counter = format!("link/{interface}/carrier_changes");
    let mut flaps = Flaps {
        interface,
        changes: 0,
        paths: BTreeSet::new(),
    };
    for phase in &view.phases {
        for side in [Side::Sender, Side::Receiver] {
            if *phase.facts.host(side) != port.1 {
                continue;
            }
            let moved = phase.facts.counter(side, &counter);
            flaps.changes = flaps.changes.saturating_add(moved);
            if moved > 0 && *phase.facts.link() == port.0 {
                flaps.paths.insert(phase.path());
            }
        }
    }
    flaps
}

fn flaps<'a>(view: &View<'a>) -> BTreeMap<Port, Flaps<'a>> {
    let mut found = BTreeMap::new();
    for (port, (name, interface)) in view.ports() {
        // One that had none from the start is `link-down`.
        if !interface.carrier {
            continue;
        }
        let devices = devices(view, &port, name).into_iter();
        let all = devices.map(|device| flaps_of(view, &port, device));
        // A VLAN's carrier goes with its parent's: the lower one is named.
        let most = all.reduce(|lower, upper| match upper.changes > lower.changes {
            true => upper,
            false => lower,
        });
        if let Some(flaps) = most.filter(|flaps| flaps.changes > 0) {
            found.insert(port, flaps);
        }
    }
    found
}

/// What a carrier that goes can have cost.
fn explains(view: &View<'_>, loss: &Loss) -> bool {
    match loss.layer {
        Some(Layer::Neighbour) => true,
        None | Some(Layer::BetweenHosts | Layer::SenderNic) => {
            let report = &view.phases[loss.phase].facts.phase.receiver;
            let runs = report.loss_runs_by_length.iter();
            let (lost, runs) = runs.fold((0u64, 0u64), |(lost, runs), (length, n)| {
                (
                    lost.saturating_add(length.saturating_mul(*n)),
                    runs.saturating_add(*n),
                )
            });
            lost >= runs.saturating_mul(RUN)
        }
        _ => false,
    }
}

impl CheckCause for CarrierFlaps {
    fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Found<Self>> {
        let mut by_link: BTreeMap<LinkName, Vec<(HostName, Flaps<'_>)>> = BTreeMap::new();
        for ((link, host), flaps) in flaps(view) {
            by_link.entry(link).or_default().push((host, flaps));
        }
        let ports = view.ports();
        let mut found = Vec::new();
        for (link, flapping) in by_link {
            // Every port of the link: that is what they hang on, once, and not a cable a host.
            let all = flapping.len() > 1
                && ports.keys().filter(|(of, _)| *of == link).count() == flapping.len();
            let switch = view.switch(&link).filter(|_| all);
            let spots: Vec<&[(HostName, Flaps<'_>)]> = match all {
                true => vec![&flapping[..]],
                false => flapping.chunks(1).collect(),
            };
            for spot in spots {
                let paths: BTreeSet<&Path> = spot.iter().flat_map(|(_, f)| &f.paths).collect();
                let explained = losses.claim(Self::CODE, |l| {
                    (paths.contains(&l.path) || paths.contains(&l.path.back())) && explains(view, l)
                });
                let one = spot.first().filter(|_| !all);
                let place = Place {
                    host: one.map(|(host, _)| host.clone()),
                    interface: one.map(|(_, f)| f.interface.clone()),
                    link: Some(link.clone()),
                    object: switch.clone(),
                    ..Place::default()
                };
                found.push(Found {
                    severity: match explained.is_empty() {
                        true => Severity::Warning,
                        false => Severity::Error,
                    },
                    confidence: Confidence::Certain,
                    place,
                    evidence: Self {
                        carrier_changes: spot.iter().map(|(_, f)| f.changes).max().unwrap_or(0),
                        ports_changed: spot.len() as u64,
                        lost: (!explained.is_empty()).then(|| Lost::of(view, &explained)),
                    },
                });
            }
        }
        found
    }

    fn cost(&self) -> Packets {
        self.lost.as_ref().map_or(Packets(0), |l| l.lost_packets)
    }
}

impl Cause for CarrierFlaps {
    const CODE: &'static str = "carrier-flaps";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        let times = counted(self.carrier_changes, "time");
        let link = at.link.as_ref().map_or("the link", |link| link.as_str());
        let cost = match &self.lost {
            None => " No packet was lost for it.".to_owned(),
            Some(lost) => format!(
                " It cost {lost}: what was on the way, and what waited for neighbours that the kernel forgets when the carrier \
                 goes."
            ),
        };
        let port = "A carrier that goes is no congestion and no filter: ";
        match at.host {
            Some(_) => Words {
                text: format!(
                    "The carrier of {} of {} (link {link}) changed {times} while Hawser measured.{cost}",
                    interface(at),
                    host(at),
                ),
                fix: format!(
                    "{port}exchange the transceiver and the cable of this port one at a time, then try another port of the switch. \
                     The kernel's log on {0} and the switch's say whether a card was reset; try energy saving off (`ethtool \
                     --set-eee {1} eee off`) and the same speed and autonegotiation at both ends.",
                    host(at),
                    interface(at),
                ),
            },
            None => Words {
                text: format!(
                    "The carrier of all {} ports of link {link} changed while Hawser measured, {times} at most.{cost}",
                    self.ports_changed,
                ),
                fix: format!(
                    "{port}look at {}: its log, its power and whether it restarted; with two hosts and no switch, at the one cable \
                     between them and its transceivers.",
                    at.object.as_deref().unwrap_or("the switch of the link"),
                ),
            },
        }
    }
}
