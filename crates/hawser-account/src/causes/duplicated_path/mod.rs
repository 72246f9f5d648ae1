//! Packets arrive more than once: a loop in layer 2, two bridges in parallel, a bond that
//! broadcasts, a mirror port patched back in. Harmless to TCP, doubled work for everybody
//! else, and the first sign of a storm.
//!
//! Evidence: further copies of sequence numbers already received, or of one hello frame. From
//! the first copy on; a clean path makes none. Certain; a warning. A sender's bond in mode `broadcast` is named. Cases:
//! `duplicated-path`, `duplicated-by-bond`; `netem-duplicate`, recorded.

use std::collections::BTreeMap;

use hawser_model::bond::BondMode;
use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::names::InterfaceName;
use hawser_model::units::Packets;
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words, counted, percent_of};
use crate::causes::bonds::all_send_by;
use crate::causes::pattern::{Pattern, localize};
use crate::losses::Losses;
use crate::view::{Path, View};

#[derive(Serialize)]
pub(crate) struct DuplicatedPath {
    pattern: Pattern,
    duplicate_packets: Packets,
    received_packets: Packets,
    #[serde(skip_serializing_if = "Option::is_none")]
    duplicate_percent: Option<f64>,
    duplicate_hellos: u64,
    /// The senders' bond that sends everything by every member.
    #[serde(skip_serializing_if = "Option::is_none")]
    broadcast_bond: Option<InterfaceName>,
}

impl CheckCause for DuplicatedPath {
    fn find(view: &View<'_>, _: &mut Losses) -> Vec<Found<Self>> {
        let mut copies: BTreeMap<Path, (u64, u64)> = BTreeMap::new();
        for phase in &view.phases {
            let duplicates = phase.facts.phase.receiver.duplicates.0;
            if duplicates > 0 {
                let entry = copies.entry(phase.path()).or_default();
                entry.0 = entry.0.saturating_add(duplicates);
            }
        }
        for hello in view.case.hellos.iter().flatten() {
            if hello.copies > 1 && hello.from_link == hello.on_link && hello.from != hello.by {
                let path = Path {
                    link: hello.on_link.clone(),
                    from: hello.from.clone(),
                    to: hello.by.clone(),
                };
                copies.entry(path).or_default().1 += u64::from(hello.copies) - 1;
            }
        }
        let affected = copies.keys().cloned().collect();
        let mut measured = view.paths();
        measured.extend(copies.keys().cloned());
        localize(&affected, &measured)
            .into_iter()
            .map(|spot| {
                let of = |pick: fn(&(u64, u64)) -> u64| -> u64 {
                    let paths = spot.paths.iter().filter_map(|p| copies.get(p));
                    paths.map(pick).fold(0, u64::saturating_add)
                };
                let (packets, hellos) = (of(|c| c.0), of(|c| c.1));
                let received: u64 = spot.paths.iter().map(|p| view.received(p)).sum();
                Found {
                    severity: Severity::Warning,
                    confidence: Confidence::Certain,
                    place: spot.place,
                    evidence: Self {
                        pattern: spot.pattern,
                        duplicate_packets: Packets(packets),
                        received_packets: Packets(received),
                        duplicate_percent: percent_of(packets, received),
                        duplicate_hellos: hellos,
                        broadcast_bond: all_send_by(view, &spot.paths, BondMode::Broadcast)
                            .cloned(),
                    },
                }
            })
            .collect()
    }
}

impl Cause for DuplicatedPath {
    const CODE: &'static str = "duplicated-path";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        let hellos = match self.duplicate_hellos {
            0 => String::new(),
            n => format!(
                " {} too, so layer 2 itself doubles.",
                counted(n, "hello frame")
            ),
        };
        let twice = format!(
            "{} of {} arrived more than once.{hellos}",
            self.duplicate_packets,
            counted(self.received_packets.0, "packet"),
        );
        if let Some(bond) = &self.broadcast_bond {
            return Words {
                text: format!(
                    "{twice} {bond} of the sender sends every packet by every member (broadcast)."
                ),
                fix: format!(
                    "Give {bond} a mode that sends a packet once: `active-backup`, or `802.3ad` with ports of the switch that \
                     are one group."
                ),
            };
        }
        Words {
            text: format!("{twice} {}", self.pattern.suspect(at)),
            fix: "Look for a loop: two cables between the same switches without spanning tree, a \
                  bond in broadcast mode, a bridge beside the bond, a mirror port patched back in."
                .to_owned(),
        }
    }
}
