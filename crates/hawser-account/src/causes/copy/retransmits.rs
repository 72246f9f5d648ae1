//! TCP had to send again more than a sound path makes it: packets are lost between the hosts, or
//! at a queue of theirs.
//!
//! Evidence: segments sent again that the receiver did not have yet (what it had, it says: D-SACK), one in
//! two hundred or more; certain, since TCP counted them. Where packets only overtake each other, as between
//! the processors of a host, TCP also sends again, and nothing is lost.
//! Where they were lost is what `hawser check` finds out. A policer drops too and is named by
//! itself. Case: `copy/retransmits`.

use hawser_model::copy::CopyEnd;
use hawser_model::finding::{Confidence, Finding, Severity};

use super::{CopyCause, at_sender};
use crate::causes::support::Draft;
use crate::copy::View;

pub(super) const CAUSE: CopyCause = CopyCause {
    code: "copy-retransmits",
    find,
};

/// Of the segments. Below it a loss-based congestion control still fills a local link (Mathis et
/// al. 1997: 1.22 · MSS / (RTT · √p) is 20 Gbit/s at 0.1 ms).
const SHARE: f64 = 0.005;

fn find(view: &View<'_>, explained: bool) -> Option<Finding> {
    let sender = &view.case.sender;
    let sum =
        |of: fn(&hawser_model::copy::TcpFacts) -> u64| -> u64 { sender.tcp.iter().map(of).sum() };
    let (lost, all) = (sum(|t| t.lost()), sum(|t| t.segments_out));
    if explained || lost == 0 || (lost as f64) < SHARE * all as f64 {
        return None;
    }
    let out_of_order: u64 = view.case.receiver.tcp.iter().map(|t| t.out_of_order).sum();
    let draft = Draft::new(
        CAUSE.code,
        Severity::Warning,
        Confidence::Certain,
        at_sender(view),
    )
    .change(view)
    .number("retransmits", sum(|t| t.retransmits))
    .number("needless", sum(|t| t.needless))
    .number("segments", all)
    .percent("lost_percent", lost, all)
    .number("timeouts", sum(|t| t.timeouts))
    .number("out_of_order", out_of_order)
    .number("sender_drops", dropped(sender))
    .number("receiver_drops", dropped(&view.case.receiver));
    Some(draft.done())
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
