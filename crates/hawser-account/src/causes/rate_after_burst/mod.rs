//! Something on the way lets a burst pass and then no more than a rate: a policer or shaper (a
//! switch port's rate limit, a provider's committed rate, `tc police`, `tbf`).
//!
//! Evidence: the rate falls to a steady one, and neither disk nor receive window explains it. With
//! segments lost only from there on it is likely (a policer drops what is over); without it is
//! possible (a shaper holds it back, and so would other traffic that began then), and only if the rate stands still. The bucket's depth
//! is what went through beyond the later rate. Cases: `copy/policer`, `copy/shaper`.

/// The same of a stream of a check.
pub(crate) mod stream;

use hawser_model::finding::{Confidence, Place};
use hawser_model::units::{BitsPerSec, Bytes};
use serde::Serialize;

use crate::cause::{Cause, CopyCause, Found, Words, way};
use crate::copy::View;
use crate::copy::fell::{Fell, at_sender, percent, rate};

#[derive(Serialize)]
pub(crate) struct RateAfterBurst {
    #[serde(flatten)]
    fell: Fell,
    burst_bytes: Bytes,
    bits_per_s: BitsPerSec,
    unsteady_percent: u64,
    lost_before: u64,
    lost_after: u64,
}

/// A rate that varies by more than this is not the work of a bucket.
pub(crate) const STEADY: f64 = 0.25;

/// A shaper's queue lets the same pass at all times, and nothing else says that there is one. What a busy machine or other
/// traffic leaves varies more: 14 % in pieces of a quarter of a second, on a veth beside a busy program.
const STILL: f64 = 0.08;

/// Of the segments, lost for a policer to be likely.
const DROPPING: f64 = 0.002;

impl CopyCause for RateAfterBurst {
    fn find(view: &View<'_>, explained: bool) -> Option<Found<Self>> {
        let (change, (before, after)) = (view.change?, view.parts?);
        let unsteadiness = view.unsteadiness?;
        let share = |lost: u64, bytes: u64| {
            let first = view.case.sender.tcp.first();
            let segment = first.map_or(1448, |t| t.snd_mss.max(1));
            lost as f64 * f64::from(segment) / (bytes.max(1) as f64)
        };
        let lost_before = share(before.lost, before.bytes);
        let lost_after = share(after.lost, after.bytes);
        let dropping = lost_after > DROPPING && lost_after > 2.0 * lost_before;
        let steady = if dropping { STEADY } else { STILL };
        if explained || unsteadiness > steady || change.after_mb_per_s <= 0.0 {
            return None;
        }
        let fell = Fell::of(view);
        Some(Found {
            severity: fell.severity(),
            confidence: match dropping {
                true => Confidence::Likely,
                false => Confidence::Possible,
            },
            place: at_sender(view),
            evidence: Self {
                fell,
                burst_bytes: Bytes(change.ahead_bytes),
                bits_per_s: BitsPerSec(8 * rate(change.after_mb_per_s)),
                unsteady_percent: percent(unsteadiness),
                lost_before: before.lost,
                lost_after: after.lost,
            },
        })
    }
}

impl Cause for RateAfterBurst {
    const CODE: &'static str = "rate-after-burst";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        let what = match self.lost_after > 2 * self.lost_before {
            true => format!(
                "Excess traffic is dropped: TCP retransmitted {} segments after that point, {} before it",
                self.lost_after, self.lost_before,
            ),
            false => {
                "Nothing was dropped: excess traffic waits in a queue, or other traffic began at \
                      that moment"
                    .to_owned()
            }
        };
        Words {
            text: format!(
                "The copy {} {} and stayed there (within {} %). Something on the way lets \
                 a burst of about {} pass and then {}: a policer or shaper. {what}. Neither disk nor \
                 receive window held it back.",
                way(at),
                self.fell,
                self.unsteady_percent.max(1),
                self.burst_bytes,
                self.bits_per_s,
            ),
            fix: format!(
                "Look for a rate limit of {} with a burst of {}: `tc -s qdisc show` and `tc -s filter \
                 show dev IFACE ingress` on both hosts, the switch port's policer or storm control, a \
                 hypervisor's or provider's limit.",
                self.bits_per_s, self.burst_bytes,
            ),
        }
    }
}
