//! Something on the way lets a burst pass and then no more than a rate: a policer or shaper (a
//! switch port's rate limit, a provider's committed rate, `tc police`, `tbf`).
//!
//! Evidence: the rate falls to a steady one, and neither disk nor receive window explains it. With
//! segments lost only from there on it is likely (a policer drops what is over); without it is
//! possible (a shaper holds it back, and so would other traffic that began then). The bucket's depth
//! is what went through beyond the later rate. Cases: `copy/policer`, `copy/shaper`.

use hawser_model::finding::{Confidence, Finding};

use super::{CopyCause, at_sender, percent, rate, severity};
use crate::causes::support::Draft;
use crate::copy::View;

pub(super) const CAUSE: CopyCause = CopyCause {
    code: "rate-after-burst",
    find,
};

/// A rate that varies by more than this is not the work of a bucket.
const STEADY: f64 = 0.25;

/// Of the segments, lost for a policer to be likely.
const DROPPING: f64 = 0.002;

fn find(view: &View<'_>, explained: bool) -> Option<Finding> {
    let (change, (before, after)) = (view.change?, view.parts?);
    let unsteadiness = view.unsteadiness?;
    let share = |lost: u64, bytes: u64| {
        let segment = view
            .case
            .sender
            .tcp
            .first()
            .map_or(1448, |t| t.snd_mss.max(1));
        lost as f64 * f64::from(segment) / (bytes.max(1) as f64)
    };
    let lost_before = share(before.lost, before.bytes);
    let lost_after = share(after.lost, after.bytes);
    if explained || unsteadiness > STEADY || change.after_mb_per_s <= 0.0 {
        return None;
    }
    let dropping = lost_after > DROPPING && lost_after > 2.0 * lost_before;
    let confidence = if dropping {
        Confidence::Likely
    } else {
        Confidence::Possible
    };
    let draft = Draft::new(CAUSE.code, severity(view), confidence, at_sender(view))
        .change(view)
        .number("burst_bytes", change.ahead_bytes)
        .number("bits_per_s", 8 * rate(change.after_mb_per_s))
        .number("unsteady_percent", percent(unsteadiness))
        .number("lost_before", before.lost)
        .number("lost_after", after.lost);
    Some(draft.done())
}
