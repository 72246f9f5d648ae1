//! A congestion control that does not fill the path: one that takes every loss for congestion where a path
//! loses a little for other reasons (each lost segment halves reno's rate and cuts cubic's by three tenths), or
//! one that paces a stream below what a short and fast path can carry, as bbr may.
//!
//! Evidence: a stream with another congestion control, measured beside it on the same path, gets clearly more.
//! Where the kernel has no other one, or only one that is governed by loss too: its name, segments lost, and a stream that gets much less than
//! datagrams or several streams do. A stream that fills the link lacks nothing. Likely; a warning. Cases:
//! `ladder-congestion-control`, `ladder-congestion-other`; `ladder-congestion-same` has none.

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

/// Of what the other one gets: below it, by more than both vary, the difference is worth a change.
const LESS: f64 = 0.77;

fn by_loss(name: &str) -> bool {
    BY_LOSS.contains(&name)
}

fn find(view: &LadderView<'_>, found: &[Finding]) -> Vec<Finding> {
    let (Some(stream), Some(rate)) = (view.stream(), view.rate(RungKind::WireTcp)) else {
        return Vec::new();
    };
    let full = view
        .speed()
        .is_some_and(|speed| rate.mb_per_s >= 0.9 * speed);
    let limited = any(
        found,
        &["cpu-limit", "policer", "rate-limit", "window-too-small"],
    );
    let other = view.other_stream().zip(view.rate(RungKind::WireTcpOther));
    let better = other.filter(|(_, better)| rate.clearly_below(LESS, *better));
    // One that is not governed by loss and gets no more shows that loss is not what takes the rate.
    let shown = other.is_some_and(|(other, _)| !by_loss(&other.congestion));
    let (other, better) = match better {
        Some((other, better)) => (Some(&other.congestion), Some(better.mb_per_s)),
        None if shown => (None, None),
        None => (None, unmeasured(view, &stream.congestion, rate.mb_per_s)),
    };
    let Some(better) = better.filter(|_| !full && !limited) else {
        return Vec::new();
    };
    let draft = Draft::new(
        CAUSE.code,
        Severity::Warning,
        Confidence::Likely,
        view.place(&view.run.from),
    )
    .name("congestion_control", &stream.congestion)
    .decimal("lost_percent", view.lost() * 100.0)
    .decimal("stream_mb_per_s", rate.mb_per_s)
    .decimal("better_mb_per_s", better);
    vec![match other {
        Some(other) => draft.name("other", other).done(),
        None => draft.done(),
    }]
}

/// What datagrams or several streams get, where that is much more than a stream that is governed by loss and
/// loses some.
fn unmeasured(view: &LadderView<'_>, name: &str, rate: f64) -> Option<f64> {
    let better = [RungKind::WireTcpMany, RungKind::WireUdp];
    let better = better.into_iter().filter_map(|kind| view.mb(kind));
    let better = better.fold(0.0, f64::max);
    let lossy = view.lost() >= 0.0005;
    (lossy && by_loss(name) && better >= 1.5 * rate).then_some(better)
}
