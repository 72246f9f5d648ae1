//! A congestion control that takes every loss for congestion, on a path that loses a little for
//! other reasons: each lost segment halves the rate (reno) or cuts it by three tenths (cubic).
//!
//! Evidence: its name, segments sent again, and a stream that gets much less than datagrams or
//! several streams do. Likely; a warning. Case: `ladder-congestion-control`.

use hawser_model::finding::{Confidence, Finding, Severity};
use hawser_model::ladder::RungKind;

use super::{LadderCause, any};
use crate::causes::support::Draft;
use crate::throughput::view::LadderView;

pub(super) const CAUSE: LadderCause = LadderCause {
    code: "congestion-control",
    find,
};

/// Those that are governed by loss alone.
const BY_LOSS: [&str; 7] = [
    "bic",
    "cubic",
    "highspeed",
    "htcp",
    "reno",
    "scalable",
    "westwood",
];

fn find(view: &LadderView<'_>, found: &[Finding]) -> Vec<Finding> {
    let (Some(stream), Some(rate)) = (view.stream(), view.mb(RungKind::WireTcp)) else {
        return Vec::new();
    };
    let better = [RungKind::WireTcpMany, RungKind::WireUdp];
    let better = better.into_iter().filter_map(|kind| view.mb(kind));
    let better = better.fold(0.0, f64::max);
    let lossy = view.retransmitted() >= 0.0005;
    let by_loss = BY_LOSS.contains(&stream.congestion.as_str());
    if any(found, &["policer", "rate-limit"]) || !lossy || !by_loss || better < 1.5 * rate {
        return Vec::new();
    }
    vec![
        Draft::new(
            CAUSE.code,
            Severity::Warning,
            Confidence::Likely,
            view.place(&view.run.from),
        )
        .name("congestion_control", &stream.congestion)
        .decimal("retransmitted_percent", view.retransmitted() * 100.0)
        .decimal("stream_mb_per_s", rate)
        .decimal("better_mb_per_s", better)
        .done(),
    ]
}
