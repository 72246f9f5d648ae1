//! Something holds the path to a rate by dropping what is above it, often after a burst that
//! passes unhindered: a policer or a token bucket with a deep bucket and a short queue. A transfer
//! starts fast and then falls.
//!
//! Evidence: that of `rate-limit`, and either segments lost (1 % or more) or a start at more
//! than one and a half times the later rate, from which the bucket's depth follows. Certain where
//! a discipline of a host is seen to do it, else likely; an error. Case: `ladder-policer`.

use hawser_model::finding::{Confidence, Finding, Severity};
use hawser_model::ladder::{RungKind, Sample};

use super::LadderCause;
use super::rate_limit::{evidence, limit, shaper};
use crate::causes::support::Draft;
use crate::throughput::rates;
use crate::throughput::view::LadderView;

pub(super) const CAUSE: LadderCause = LadderCause {
    code: "policer",
    find,
};

/// Segments lost from which something drops.
const DROPS: f64 = 0.01;

fn find(view: &LadderView<'_>, found: &[Finding]) -> Vec<Finding> {
    let Some(rate) = limit(view, found) else {
        return Vec::new();
    };
    let samples = view
        .run
        .rung(RungKind::WireTcp, None)
        .map(|r| &r.samples[..]);
    let burst = burst(samples.unwrap_or(&[]), rate);
    let dropped = view.lost();
    if burst.is_none() && dropped < DROPS {
        return Vec::new();
    }
    let (place, confidence) = match shaper(view) {
        Some(place) => (place, Confidence::Certain),
        None => (view.path(), Confidence::Likely),
    };
    let draft = Draft::new(CAUSE.code, Severity::Error, confidence, place);
    vec![
        evidence(draft, view, rate)
            .maybe("burst_bytes", burst)
            .decimal("lost_percent", dropped * 100.0)
            .done(),
    ]
}

/// Bytes that passed at the start above the later rate, when they are worth half a slice.
fn burst(samples: &[Sample], rate: f64) -> Option<u64> {
    let fast = samples.iter().take_while(|s| rates::of(s) > 1.5 * rate);
    let above: f64 = fast
        .map(|s| s.bytes.0 as f64 - rate * s.elapsed.0 as f64 / 1_000.0)
        .sum();
    // A stream that never slowed has no start.
    let whole = samples.iter().all(|s| rates::of(s) > 1.5 * rate);
    (above > 256e3 && !whole).then_some(above as u64)
}
