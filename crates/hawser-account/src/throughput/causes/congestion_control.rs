//! A congestion control that does not fill the path: one that takes every loss for congestion where a path
//! loses a little for other reasons (each lost segment halves reno's rate and cuts cubic's by three tenths), or
//! one that paces a stream below what a short and fast path can carry, as bbr may.
//!
//! Evidence: a stream with another congestion control, measured beside it on the same path, gets clearly more.
//! Where the kernel has no other one, or only one that is governed by loss too: its name, segments lost, and a stream that gets much less than
//! datagrams or several streams do. A stream that fills the link lacks nothing. Likely; a warning. Cases:
//! `ladder-congestion-control`, `ladder-congestion-loss`, `ladder-congestion-other`; `ladder-congestion-same` has none.

use hawser_model::finding::{Confidence, Finding, Severity};
use hawser_model::ladder::RungKind;

use super::{LadderCause, any};
use crate::causes::support::Draft;
use crate::throughput::rates::{self, Rate};
use crate::throughput::resources::held_back;
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

/// Of what the other one gets: below it the difference is worth a change.
const LESS: f64 = 0.77;

fn find(view: &LadderView<'_>, found: &[Finding]) -> Vec<Finding> {
    let (Some(stream), Some(rate)) = (view.stream(), view.rate(RungKind::WireTcp)) else {
        return Vec::new();
    };
    let full = view
        .speed()
        .is_some_and(|speed| rate.mb_per_s >= 0.9 * speed);
    let held = view
        .hosts()
        .into_iter()
        .any(|host| held_back(view, host).is_some());
    if full || held || any(found, &["policer", "rate-limit", "window-too-small"]) {
        return Vec::new();
    }
    let (other, better) = match view.other_stream().zip(view.rate(RungKind::WireTcpOther)) {
        Some((other, better)) if gets_more(view, found, rate, better) => {
            (Some(&other.congestion), Some(better.mb_per_s))
        }
        // Not governed by loss, and it gets no more: loss is not what takes the rate.
        Some((other, _)) if !by_loss(&other.congestion) && went_on(view) => (None, None),
        _ => (None, unmeasured(view, &stream.congestion, rate.mb_per_s)),
    };
    let Some(better) = better else {
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

/// Whether a stream with the other congestion control gets clearly more. One that gives way to a loss that is there
/// goes up and down by nature: the median slices are held against each other. Else it must be more than both vary,
/// and no hypervisor may have taken the processors from one of the two.
fn gets_more(view: &LadderView<'_>, found: &[Finding], own: Rate, other: Rate) -> bool {
    let gives_way = view.stream().is_some_and(|s| by_loss(&s.congestion)) && lossy(view);
    match gives_way {
        true => own.mb_per_s < other.mb_per_s && half_below(view),
        false => !any(found, &["cpu-limit"]) && own.clearly_below(LESS, other),
    }
}

/// Whether half of the time the own stream stays below [`LESS`] of the other's.
fn half_below(view: &LadderView<'_>) -> bool {
    let median = |kind| rates::median(&view.run.rung(kind, None)?.samples);
    let medians = median(RungKind::WireTcp).zip(median(RungKind::WireTcpOther));
    medians.is_some_and(|(own, other)| own < LESS * other)
}

/// Whether the other stream never stood still. A retransmission that is lost as well costs 200 ms and more (RFC 6298
/// with Linux' least timeout): of one or two such times a short measurement cannot speak.
fn went_on(view: &LadderView<'_>) -> bool {
    let rung = view.run.rung(RungKind::WireTcpOther, None);
    rung.is_some_and(|rung| rung.samples.iter().all(|s| !s.bytes.is_zero()))
}

fn lossy(view: &LadderView<'_>) -> bool {
    view.lost() >= 0.0005
}

fn by_loss(name: &str) -> bool {
    BY_LOSS.contains(&name)
}

/// What datagrams or several streams get, where that is much more than a stream that is governed by loss and
/// loses some.
fn unmeasured(view: &LadderView<'_>, name: &str, rate: f64) -> Option<f64> {
    let better = [RungKind::WireTcpMany, RungKind::WireUdp];
    let better = better.into_iter().filter_map(|kind| view.mb(kind));
    let better = better.fold(0.0, f64::max);
    (lossy(view) && by_loss(name) && better >= 1.5 * rate).then_some(better)
}
