//! Something holds the path to a rate by dropping what is above it, often after a burst that
//! passes unhindered: a policer or a token bucket with a deep bucket and a short queue. A transfer
//! starts fast and then falls.
//!
//! Evidence: that of `rate-limit`, and either segments lost (1 % or more) or a start at more
//! than one and a half times the later rate, from which the bucket's depth follows. Certain where
//! a discipline of a host is seen to do it, else likely; an error. Case: `ladder-policer`.

use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::ladder::{RungKind, Sample};
use hawser_model::units::Bytes;
use serde::Serialize;

use super::rate_limit::{Limit, limit, shaper};
use crate::cause::{Before, Cause, Found, LadderCause, Tenths, Words, at_interface, between};
use crate::throughput::rates;
use crate::throughput::view::LadderView;

#[derive(Serialize)]
pub(crate) struct Policer {
    #[serde(flatten)]
    limit: Limit,
    #[serde(skip_serializing_if = "Option::is_none")]
    burst_bytes: Option<Bytes>,
    lost_percent: Tenths,
}

/// Segments lost from which something drops.
const DROPS: f64 = 0.01;

impl LadderCause for Policer {
    fn find(view: &LadderView<'_>, before: &Before<'_>) -> Vec<Found<Self>> {
        let Some(rate) = limit(view, before) else {
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
        vec![Found {
            severity: Severity::Error,
            confidence,
            place,
            evidence: Self {
                limit: Limit::of(view, rate),
                burst_bytes: burst,
                lost_percent: Tenths::of(dropped * 100.0),
            },
        }]
    }
}

/// Bytes that passed at the start above the later rate, when they are worth half a slice.
fn burst(samples: &[Sample], rate: f64) -> Option<Bytes> {
    let fast = samples.iter().take_while(|s| rates::of(s) > 1.5 * rate);
    let above: f64 = fast
        .map(|s| s.bytes.0 as f64 - rate * s.elapsed.0 as f64 / 1_000.0)
        .sum();
    // A stream that never slowed has no start.
    let whole = samples.iter().all(|s| rates::of(s) > 1.5 * rate);
    (above > 256e3 && !whole).then_some(Bytes(above as u64))
}

impl Cause for Policer {
    const CODE: &'static str = "policer";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        let burst = match self.burst_bytes {
            Some(bytes) => format!(" after a burst of about {bytes} that passed unhindered"),
            None => String::new(),
        };
        let who = match &at.object {
            Some(object) => format!("{object} on {}", at_interface(at)),
            None => format!("Something between {}", between(at)),
        };
        Words {
            text: format!(
                "{who} holds the path to {}{burst}, and drops what is above it: {:.1} % of the \
                 segments were lost. Several streams together got {}.",
                self.limit.limit_bits_per_s, self.lost_percent.0, self.limit.streams_mb_per_s,
            ),
            fix: "Raise the limit where it is set. Where it must stay, let the sender shape to just \
                  below it (`tc qdisc replace dev DEV root tbf rate RATE burst 256kb latency 20ms`), \
                  so that packets wait instead of being dropped."
                .to_owned(),
        }
    }
}
