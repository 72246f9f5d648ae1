//! Packets arrive damaged. Where the receiver verifies, UDP drops them (`InCsumErrors`, found
//! at `recv()`); where it does not (checksum offload between virtual machines, a NIC that
//! says "verified") the program gets them and only the probe's own checksum tells.
//!
//! Evidence: packets in the layer checksum. The damage was done on the way: cable, switch
//! memory, NIC. An error, also at one packet: storage protocols without checksums of their
//! own store such data. Cases: `checksum-errors`, `delivered-corrupted`.

use std::collections::BTreeSet;

use hawser_model::account::Layer;
use hawser_model::finding::{Finding, Severity};

use super::Cause;
use super::pattern::{Pattern, localize};
use super::support::{Draft, confidence, place_on};
use crate::losses::{Loss, Losses, packets};
use crate::packets::facts::Side;
use crate::view::{Path, View};

pub(super) const CAUSE: Cause = Cause {
    code: "checksum-errors",
    find,
};

fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Finding> {
    let damaged = |l: &Loss| l.layer == Some(Layer::Checksum);
    let affected: BTreeSet<Path> = losses
        .open()
        .filter(|l| damaged(l))
        .map(|l| l.path.clone())
        .collect();
    let measured = view.paths();
    let mut found = Vec::new();
    for spot in localize(&affected, &measured) {
        let group = losses.claim(CAUSE.code, |l| damaged(l) && spot.paths.contains(&l.path));
        let mut place = spot.place;
        // One direction: the receiver is where the damage was counted.
        if spot.pattern == Pattern::Direction {
            if let Some(receiver) = place.peer.clone() {
                place = place_on(view, &receiver, &group);
            }
        }
        let delivered: Vec<Loss> = group
            .iter()
            .filter(|l| l.reason == "delivered corrupted")
            .cloned()
            .collect();
        let phases: BTreeSet<usize> = group.iter().map(|l| l.phase).collect();
        let counted = phases
            .into_iter()
            .map(|phase| {
                let facts = &view.phases[phase].facts;
                let (udp, _) = facts.families();
                facts.counter(Side::Receiver, &format!("{udp}/InCsumErrors"))
            })
            .sum();
        found.push(
            Draft::new(CAUSE.code, Severity::Error, confidence(&group), place)
                .name("pattern", spot.pattern.name())
                .losses(view, &group)
                .number("delivered_corrupted_packets", packets(&delivered))
                .number("checksum_errors_counted", counted)
                .done(),
        );
    }
    found
}
