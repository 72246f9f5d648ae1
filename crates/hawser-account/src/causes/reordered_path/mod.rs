//! Packets overtake each other: two ways of different length used packet by packet (a
//! round-robin bond, per-packet load sharing), or a path that changes. TCP takes it for loss;
//! UDP protocols without a window discard the late ones.
//!
//! Evidence: packets that arrived after a later one. A flow keeps its order on one queue and
//! one CPU; a thread that moves to another CPU in mid-flow can let a few packets overtake
//! inside the sending host, so fewer than three, or less than one in a thousand, are not held
//! against the path. Certain; a warning. A sender's bond in `balance-rr` is named. Cases: `reordered-path`,
//! `reordered-by-bond`.

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
pub(crate) struct ReorderedPath {
    pattern: Pattern,
    reordered_packets: Packets,
    received_packets: Packets,
    #[serde(skip_serializing_if = "Option::is_none")]
    reordered_percent: Option<f64>,
    /// The senders' bond that sends packet by packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    round_robin_bond: Option<InterfaceName>,
}

/// Fewest packets out of order on a path.
const LEAST_PACKETS: u64 = 3;
/// At most this many in order for each out of it.
const ONE_IN: u64 = 1_000;

impl CheckCause for ReorderedPath {
    fn find(view: &View<'_>, _: &mut Losses) -> Vec<Found<Self>> {
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
                Found {
                    severity: Severity::Warning,
                    confidence: Confidence::Certain,
                    place: spot.place,
                    evidence: Self {
                        pattern: spot.pattern,
                        reordered_packets: Packets(packets),
                        received_packets: Packets(received),
                        reordered_percent: percent_of(packets, received),
                        round_robin_bond: all_send_by(view, &spot.paths, BondMode::BalanceRr)
                            .cloned(),
                    },
                }
            })
            .collect()
    }
}

impl Cause for ReorderedPath {
    const CODE: &'static str = "reordered-path";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        let late = format!(
            "{} of {} arrived after a later one.",
            self.reordered_packets,
            counted(self.received_packets.0, "packet"),
        );
        if let Some(bond) = &self.round_robin_bond {
            return Words {
                text: format!(
                    "{late} {bond} of the sender deals packets out to its members in turn (balance-rr), and they overtake each \
                     other."
                ),
                fix: format!(
                    "Give {bond} a mode that keeps a flow on one member: `802.3ad` or `balance-xor` with \
                     `xmit_hash_policy layer3+4`, or `active-backup`."
                ),
            };
        }
        Words {
            text: format!("{late} {}", self.pattern.suspect(at)),
            fix: "Packets of one flow must keep to one way: no round-robin bond (`mode balance-rr`), \
                  no per-packet load sharing on the switches; hash by flow instead \
                  (`xmit_hash_policy layer3+4`)."
                .to_owned(),
        }
    }
}
