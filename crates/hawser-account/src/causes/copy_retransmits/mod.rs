//! TCP had to send again more than a sound path makes it: packets are lost between the hosts, or
//! at a queue of theirs.
//!
//! Evidence: segments sent again that the receiver did not have yet (what it had, it says: D-SACK), one in
//! two hundred or more; certain, since TCP counted them. Where packets only overtake each other, as between
//! the processors of a host, TCP also sends again, and nothing is lost.
//! Where they were lost is what `hawser check` finds out. A policer drops too and is named by
//! itself. Case: `copy/retransmits`; not `copy/resent-in-a-moment`. Of a ladder: [`ladder`].

pub(crate) mod ladder;

use hawser_model::copy::{CopyEnd, TcpFacts};
use hawser_model::finding::{Confidence, Place, Severity};
use serde::Serialize;

use crate::cause::{Cause, CopyCause, Found, Words, host, hundredths, peer, percent_text, way};
use crate::copy::View;
use crate::copy::fell::{Fell, at_sender};

#[derive(Serialize)]
pub(crate) struct CopyRetransmits {
    #[serde(flatten)]
    fell: Fell,
    retransmits: u64,
    needless: u64,
    segments: u64,
    /// With two decimals.
    lost_percent: f64,
    timeouts: u64,
    out_of_order: u64,
    sender_drops: u64,
    receiver_drops: u64,
}

/// Of the segments. A sound path lost 0.15 % at most in recorded runs, and that of a host short of processor time. From here on
/// a loss-based congestion control no longer fills a local link of 10 Gbit/s (Mathis et al. 1997: 1.22 · MSS / (RTT · √p) is
/// 2.8 Gbit/s at 0.1 ms).
pub(super) const SHARE: f64 = 0.0025;

/// The same of a copy, which may last a moment: one of 0.06 s over a sound path left 0.34 % unexplained.
const OF_A_COPY: f64 = 0.005;

impl CopyCause for CopyRetransmits {
    fn find(view: &View<'_>, explained: bool) -> Option<Found<Self>> {
        let (sender, receiver) = (&view.case.sender, &view.case.receiver);
        let sum = |of: fn(&TcpFacts) -> u64| -> u64 { sender.tcp.iter().map(of).sum() };
        let (lost, all) = (sum(|t| t.lost()), sum(|t| t.segments_out));
        if explained || lost == 0 || (lost as f64) < OF_A_COPY * all as f64 {
            return None;
        }
        Some(Found {
            severity: Severity::Warning,
            confidence: Confidence::Certain,
            place: at_sender(view),
            evidence: Self {
                fell: Fell::of(view),
                retransmits: sum(|t| t.retransmits),
                needless: sum(|t| t.needless),
                segments: all,
                lost_percent: hundredths(lost, all),
                timeouts: sum(|t| t.timeouts),
                out_of_order: receiver.tcp.iter().map(|t| t.out_of_order).sum(),
                sender_drops: dropped(sender),
                receiver_drops: dropped(receiver),
            },
        })
    }
}

/// What the interface of an end dropped meanwhile.
fn dropped(end: &CopyEnd) -> u64 {
    let Some((name, _)) = &end.interface else {
        return 0;
    };
    [
        "rx_dropped",
        "tx_dropped",
        "rx_errors",
        "tx_errors",
        "rx_missed_errors",
    ]
    .iter()
    .map(|counter| end.counters.or_zero(&format!("link/{name}/{counter}")))
    .sum()
}

impl Cause for CopyRetransmits {
    const CODE: &'static str = "copy-retransmits";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        Words {
            text: format!(
                "The copy {} {}, and TCP sent {} of {} segments again ({} timeouts), {} of \
                 them needlessly: {} % were lost. {} came out of order. The interfaces counted {} drops and errors at \
                 {} and {} at {}.",
                way(at),
                self.fell,
                self.retransmits,
                self.segments,
                self.timeouts,
                self.needless,
                percent_text(self.lost_percent),
                self.out_of_order,
                self.sender_drops,
                host(at),
                self.receiver_drops,
                peer(at),
            ),
            fix: "Let `hawser check` measure this link: it says in which layer of which host, or between \
                  them, packets are lost."
                .to_owned(),
        }
    }
}
