//! Packets overtake each other: two ways of different length used packet by packet (a
//! round-robin bond, per-packet load sharing), or a path that changes. TCP takes it for loss;
//! UDP protocols without a window discard the late ones.
//!
//! Evidence: packets that arrived after a later one. A flow keeps its order on one queue and
//! one CPU; a thread that moves to another CPU in mid-flow can let a few packets overtake
//! inside the sending host, so fewer than three, or less than one in a thousand, are not held
//! against the path. Certain; a warning. Case: `reordered-path`.

use std::collections::BTreeMap;

use hawser_model::finding::{Confidence, Finding, Severity};

use super::Cause;
use super::pattern::localize;
use super::support::Draft;
use crate::losses::Losses;
use crate::view::{Path, View};

pub(super) const CAUSE: Cause = Cause {
    code: "reordered-path",
    find,
};

/// Fewest packets out of order on a path.
const LEAST_PACKETS: u64 = 3;
/// At most this many in order for each out of it.
const ONE_IN: u64 = 1_000;

fn find(view: &View<'_>, _: &mut Losses) -> Vec<Finding> {
    let mut late: BTreeMap<Path, u64> = BTreeMap::new();
    for phase in &view.phases {
        let sum = late.entry(phase.path()).or_default();
        *sum = sum.saturating_add(phase.facts.phase.receiver.reordered.0);
    }
    late.retain(|path, packets| {
        *packets >= LEAST_PACKETS && packets.saturating_mul(ONE_IN) >= view.received(path)
    });
    let affected = late.keys().cloned().collect();
    localize(&affected, &view.paths())
        .into_iter()
        .map(|spot| {
            let packets = spot
                .paths
                .iter()
                .filter_map(|p| late.get(p))
                .fold(0u64, |sum, n| sum.saturating_add(*n));
            let received: u64 = spot.paths.iter().map(|p| view.received(p)).sum();
            Draft::new(
                CAUSE.code,
                Severity::Warning,
                Confidence::Certain,
                spot.place,
            )
            .name("pattern", spot.pattern.name())
            .number("reordered_packets", packets)
            .number("received_packets", received)
            .percent("reordered_percent", packets, received)
            .done()
        })
        .collect()
}
