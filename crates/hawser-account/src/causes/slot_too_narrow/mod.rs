//! A card sits in a PCI Express slot, or has a link to it, that carries less than its port: four lanes in a slot that
//! looks like eight, one lane after a bad contact, a slot of an older generation.
//!
//! Evidence: rate and width of the link now (`current_link_speed`, `current_link_width`), after its encoding and the
//! headers of its packets, against the speed of the port. Certain on a real machine, likely where it was not recorded
//! whether it is one; nothing in a virtual machine, whose slots are made up. A warning. Cases: `slot-too-narrow`,
//! `slot-wide-enough`.

use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::host::PcieLink;
use hawser_model::units::BitsPerSec;
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words, at_interface, host};
use crate::compare::topic::{About, Topic};
use crate::losses::Losses;
use crate::view::View;

#[derive(Serialize)]
pub(crate) struct SlotTooNarrow {
    lanes: u32,
    lane_mt_per_s: u32,
    slot_bits_per_s: BitsPerSec,
    speed_bits_per_s: BitsPerSec,
    #[serde(skip_serializing_if = "Option::is_none")]
    card_lanes: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    card_lane_mt_per_s: Option<u32>,
}

/// What a lane carries of each million transfers, in bits: 8b/10b up to 5 GT/s, 128b/130b above, and 64 GT/s as it is
/// (`PCIE_SPEED2MBS_ENC`, `drivers/pci/pci.h`).
fn lane_bits(mt_per_s: u32) -> u64 {
    let transfers = u64::from(mt_per_s) * 1_000_000;
    match mt_per_s {
        0..=5_000 => transfers * 8 / 10,
        5_001..=32_000 => transfers * 128 / 130,
        _ => transfers,
    }
}

/// Of it, data: each 128 bytes, the smallest payload of a packet that is in use, have 24 bytes of headers and framing
/// (Neugebauer et al., "Understanding PCIe performance for end host networking", SIGCOMM 2018, section 3).
fn payload(link: &PcieLink) -> BitsPerSec {
    BitsPerSec(lane_bits(link.lane_mt_per_s) * u64::from(link.lanes) * 128 / (128 + 24))
}

impl CheckCause for SlotTooNarrow {
    const STANDING: bool = true;

    fn find(view: &View<'_>, _: &mut Losses) -> Vec<Found<Self>> {
        let mut found = Vec::new();
        for ((link, host), (name, port)) in view.ports() {
            let Some(facts) = view.host(&host) else {
                continue;
            };
            let confidence = match facts.virtualization.as_deref() {
                Some("none") => Confidence::Certain,
                None => Confidence::Likely,
                Some(_) => continue,
            };
            let below = port.lower.iter();
            let below = below.filter_map(|lower| Some((lower, facts.interfaces.get(lower)?)));
            for (name, card) in [(name, port)].into_iter().chain(below) {
                let (Some(pcie), Some(speed)) = (card.pcie, card.speed) else {
                    continue;
                };
                let carried = payload(&pcie);
                if carried >= speed {
                    continue;
                }
                found.push(Found {
                    severity: Severity::Warning,
                    confidence,
                    place: Place::port(&host, &link, name),
                    evidence: Self {
                        lanes: pcie.lanes,
                        lane_mt_per_s: pcie.lane_mt_per_s,
                        slot_bits_per_s: carried,
                        speed_bits_per_s: speed,
                        card_lanes: pcie.card_lanes,
                        card_lane_mt_per_s: pcie.card_lane_mt_per_s,
                    },
                });
            }
        }
        found
    }
}

/// `8 lanes of 5.0 GT/s`.
fn lanes(lanes: u32, mt_per_s: u32) -> String {
    let s = if lanes == 1 { "" } else { "s" };
    format!("{lanes} lane{s} of {:.1} GT/s", f64::from(mt_per_s) / 1e3)
}

impl Cause for SlotTooNarrow {
    const CODE: &'static str = "slot-too-narrow";
    const PAGE: &'static str = include_str!("page.md");
    const ABOUT: &[About] = &[Topic::Slot.any()];

    fn words(&self, at: &Place) -> Words {
        let now = lanes(self.lanes, self.lane_mt_per_s);
        let own = self.card_lanes.zip(self.card_lane_mt_per_s);
        let could = match own {
            Some(own) if own == (self.lanes, self.lane_mt_per_s) => {
                " The card itself can do no more.".to_owned()
            }
            Some((wide, fast)) => format!(" The card could use {}.", lanes(wide, fast)),
            None => String::new(),
        };
        let first = match own == Some((self.lanes, self.lane_mt_per_s)) {
            true => "Use a card that is made for this speed",
            false => {
                "Put the card into a slot with as many lanes as it has, or clean its contacts and seat it again"
            }
        };
        let carry = if self.lanes == 1 { "carries" } else { "carry" };
        Words {
            text: format!(
                "{} runs at {}, but {now} {carry} {} of data each way between the card and the machine.{could}",
                at_interface(at),
                self.speed_bits_per_s,
                self.slot_bits_per_s,
            ),
            fix: format!(
                "{first}. `lspci -vv` on {} shows LnkCap and LnkSta of card and slot; the firmware's setup may limit or \
                 divide a slot.",
                host(at),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_carries_what_its_generation_and_width_give() {
        let carries = |lanes, lane_mt_per_s| {
            let link = PcieLink {
                lanes,
                lane_mt_per_s,
                ..PcieLink::default()
            };
            payload(&link).0 / 1_000_000
        };
        assert_eq!(carries(1, 2_500), 1_684);
        assert_eq!(carries(4, 2_500), 6_736);
        assert_eq!(carries(4, 5_000), 13_473);
        assert_eq!(carries(1, 8_000), 6_633);
        // What is sold together: 25, 50, 100 and 200 Gbit/s.
        assert!(carries(8, 5_000) > 25_000 && carries(4, 8_000) > 25_000);
        assert!(carries(8, 8_000) > 50_000 && carries(16, 8_000) > 100_000);
        assert!(carries(16, 16_000) > 200_000);
    }
}
