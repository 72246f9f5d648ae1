//! A NIC that merges received segments in hardware (LRO; bnx2x calls it TPA) and stalls: a transfer
//! starts well and after some hundred megabytes falls to hundreds of kilobytes a second.
//!
//! Evidence: a fall to less than a tenth, TCP waits for retransmission timeouts after it, and the
//! receiving interface has LRO on and really merged (segments longer than the path's MTU reached
//! TCP). Possible, never more: only a run with LRO off proves it. Case: `copy/receive-merging`.

use hawser_model::finding::{Confidence, Finding};

use super::{CopyCause, at_receiver, severity};
use crate::causes::support::Draft;
use crate::copy::View;

pub(super) const CAUSE: CopyCause = CopyCause {
    code: "receive-merging-stall",
    find,
};

/// The kernel's name of the feature (`netdev_features_strings`, `net/ethtool/common.c`).
const LRO: &str = "rx-lro";

/// The rate after, of the rate before.
const FALL: f64 = 0.1;

fn find(view: &View<'_>, explained: bool) -> Option<Finding> {
    let (change, (_, after)) = (view.change?, view.parts?);
    let (_, interface) = view.case.receiver.interface.as_ref()?;
    let merged = view.case.receiver.tcp.iter().map(|t| t.rcv_mss).max()?;
    let pmtu = view.case.receiver.tcp.iter().map(|t| t.pmtu).max()?;
    let timeouts: u64 = view.case.sender.tcp.iter().map(|t| t.timeouts).sum();
    let fits = !explained
        && interface.features_on.iter().any(|f| f == LRO)
        && change.after_mb_per_s < FALL * change.before_mb_per_s
        && merged > pmtu
        && timeouts > 0;
    fits.then(|| {
        Draft::new(
            CAUSE.code,
            severity(view),
            Confidence::Possible,
            at_receiver(view),
        )
        .change(view)
        .number("merged_bytes", merged.into())
        .number("path_mtu", pmtu.into())
        .number("timeouts", timeouts)
        .number("lost_after", after.lost)
        .done()
    })
}
