//! Packets of some sizes never arrive, though smaller and larger ones do: a filter by length (`-m length`, a tc or
//! XDP program, an access list), a driver, card or switch that breaks on a size. Flows of other sizes lose nothing.
//!
//! Evidence: a size in each band of 60 bytes up to that of an Ethernet frame (and in eight bands above it) is sent with
//! the don't-fragment bit, and believed only when the other end confirms it. What is missing is sent eight times by
//! itself, with one of a size beside it after each: none of the first and seven of the second must arrive, so it is not
//! a lossy path. Its ends are found to the byte. An error; certain of the path and the sizes. Who drops them is told by
//! `hawser check --size`, whose packets the hosts account for: where a phase of such a size was sent and every packet of
//! it has another cause, nothing is said here. Cases: `size-band-dropped`, `size-band-lossy`, `size-band-named`.

use std::collections::{BTreeMap, BTreeSet};

use hawser_model::account::Layer;
use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::probe::SizeHole;
use hawser_model::units::{Mtu, Packets};
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words, counted};
use crate::causes::pattern::{Pattern, Spot, localize};
use crate::losses::{Loss, Losses, packets};
use crate::view::{Path, View};

#[derive(Serialize)]
pub(crate) struct SizeBandDropped {
    pattern: Pattern,
    directions_affected: u64,
    first_dropped_bytes: Mtu,
    last_dropped_bytes: Mtu,
    /// Of its sizes, in all directions; none arrived.
    probes_sent: Packets,
    outside_sent: Packets,
    outside_arrived: Packets,
    lost_packets: Packets,
}

/// So many of the packets beside them must arrive, in per cent: `look_into` of the search asks for as much.
const OUTSIDE_PER_CENT: u64 = 85;

impl CheckCause for SizeBandDropped {
    fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Found<Self>> {
        let mut by_band: BTreeMap<(Mtu, Mtu), BTreeMap<Path, SizeHole>> = BTreeMap::new();
        for m in &view.case.measurements {
            let path = Path::of(m);
            let holes = m.path_mtu.iter().flat_map(|found| &found.holes).flatten();
            for hole in holes.filter(|hole| sure(hole)) {
                let band = by_band.entry((hole.first, hole.last)).or_default();
                band.insert(path.clone(), *hole);
            }
        }
        let measured: BTreeSet<Path> = view.paths();
        let mut found = Vec::new();
        for (band, holes) in by_band {
            let paths: BTreeSet<Path> = holes.keys().cloned().collect();
            let measured = paths.union(&measured).cloned().collect();
            for spot in localize(&paths, &measured) {
                found.extend(finding(view, losses, band, &holes, spot));
            }
        }
        found
    }

    fn cost(&self) -> Packets {
        self.lost_packets
    }
}

fn sure(hole: &SizeHole) -> bool {
    let arrived = hole.outside_arrived.0.saturating_mul(100);
    hole.first <= hole.last
        && !hole.sent.is_zero()
        && !hole.outside_sent.is_zero()
        && arrived >= hole.outside_sent.0.saturating_mul(OUTSIDE_PER_CENT)
}

/// Lost where a hop or a filter below the hosts' own layers may have taken it.
fn on_the_way(loss: &Loss) -> bool {
    matches!(
        loss.layer,
        None | Some(Layer::BetweenHosts | Layer::ReceiverNic)
    )
}

fn finding(
    view: &View<'_>,
    losses: &mut Losses,
    (first, last): (Mtu, Mtu),
    holes: &BTreeMap<Path, SizeHole>,
    spot: Spot,
) -> Option<Found<SizeBandDropped>> {
    let in_band = |phase: usize| {
        let size = view.phases[phase].facts.packet_size();
        (first..=last).contains(&size)
    };
    let explained = losses.claim(SizeBandDropped::CODE, |l| {
        spot.paths.contains(&l.path) && in_band(l.phase) && on_the_way(l)
    });
    let tried = (0..view.phases.len()).any(|phase| {
        in_band(phase)
            && view.phases[phase].facts.sent() > 0
            && spot.paths.contains(&view.phases[phase].path())
    });
    if tried && explained.is_empty() {
        return None;
    }
    let of_spot = || spot.paths.iter().filter_map(|path| holes.get(path));
    let sum = |of: fn(&SizeHole) -> Packets| of_spot().map(of).sum();
    Some(Found {
        severity: Severity::Error,
        confidence: Confidence::Certain,
        evidence: SizeBandDropped {
            pattern: spot.pattern,
            directions_affected: spot.paths.len() as u64,
            first_dropped_bytes: first,
            last_dropped_bytes: last,
            probes_sent: sum(|hole| hole.sent),
            outside_sent: sum(|hole| hole.outside_sent),
            outside_arrived: sum(|hole| hole.outside_arrived),
            lost_packets: Packets(packets(&explained)),
        },
        place: spot.place,
    })
}

impl Cause for SizeBandDropped {
    const CODE: &'static str = "size-band-dropped";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        let (first, last) = (self.first_dropped_bytes, self.last_dropped_bytes);
        let band = match first == last {
            true => format!("Packets of {first} bytes"),
            false => format!("Packets of {first} to {last} bytes"),
        };
        let lost = match self.lost_packets.0 {
            0 => " The check's own flows have other sizes and lost nothing by it.".to_owned(),
            n => format!(" It cost {} of the check.", counted(n, "packet")),
        };
        Words {
            text: format!(
                "{band} never arrive, smaller and larger ones do: of {} of these sizes none arrived, of {} sent in \
                 between just outside {} did.{lost} {}",
                counted(self.probes_sent.0, "probe"),
                self.outside_sent,
                self.outside_arrived,
                self.pattern.suspect(at),
            ),
            fix: format!(
                "`hawser check --size {}` sends packets of that size and says in which layer of which host they go. If \
                 it is on neither: a filter by length or a fault of the switch or a card on the way.",
                first.0.midpoint(last.0),
            ),
        }
    }
}
