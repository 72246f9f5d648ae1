//! A bond does not look at its members: neither `miimon` nor ARP targets are set. A member that loses its link keeps its share
//! of the flows, or all of them (`active-backup`), and the bond protects from nothing.
//!
//! Evidence: `miimon` and `arp_interval` are 0, which the kernel begins with in every mode but 802.3ad, balance-tlb and balance-alb
//! (`bond_option_mode_set`). Certain: it is read. A warning. Cases: `bond-not-watched`, `bond-watched-by-arp`.

use hawser_model::finding::{Confidence, Place, Severity};
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words, host, interface};
use crate::causes::bonds::bonds;
use crate::compare::topic::{About, Topic};
use crate::losses::Losses;
use crate::view::View;

#[derive(Serialize)]
pub(crate) struct BondNotWatched {
    miimon_ms: u32,
    arp_interval_ms: u32,
    members: usize,
}

impl CheckCause for BondNotWatched {
    const STANDING: bool = true;

    fn find(view: &View<'_>, _: &mut Losses) -> Vec<Found<Self>> {
        let all = bonds(view).into_iter();
        let blind = all.filter(|bonded| !bonded.bond.is_watched() && bonded.bond.members.len() > 1);
        let found = blind.map(|bonded| Found {
            severity: Severity::Warning,
            confidence: Confidence::Certain,
            place: bonded.place(),
            evidence: Self {
                miimon_ms: bonded.bond.miimon_ms,
                arp_interval_ms: bonded.bond.arp_interval_ms,
                members: bonded.bond.members.len(),
            },
        });
        found.collect()
    }
}

impl Cause for BondNotWatched {
    const CODE: &'static str = "bond-not-watched";
    const PAGE: &'static str = include_str!("page.md");
    const ABOUT: &[About] = &[Topic::Bond.with("miimon"), Topic::Bond.with("ARP interval")];

    fn words(&self, at: &Place) -> Words {
        Words {
            text: format!(
                "{} of {} does not look at its {} members (miimon 0, no ARP targets): one that loses its link keeps its share of \
                 the flows.",
                interface(at),
                host(at),
                self.members,
            ),
            fix: format!(
                "On {}: `ip link set {} type bond miimon 100`, and the same where the bond is configured.",
                host(at),
                interface(at),
            ),
        }
    }
}
