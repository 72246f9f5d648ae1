//! Something on the way lets a burst of a stream pass and then no more than a rate: a policer or
//! shaper (a switch port's rate limit, a provider's committed rate, `tc police`, `tbf`). It looks
//! like a receiver that loses what it merged, and is not: the rate that is left is steady.
//!
//! Evidence: a stream fell to a steady rate while its reader waited for data, and it is no
//! [`crate::causes::receive_merging_stall`]. With segments lost it is likely (a policer drops what is
//! over); without it is possible (a shaper holds it back, and so would other traffic that began
//! then). A warning: a limit may be meant. Cases: `stream-policer`, `stream-shaper`.

use hawser_model::finding::{Confidence, Finding, Place, Severity};

use crate::causes::Cause;
use crate::causes::receive_merging_stall::stream as receive_merging;
use crate::causes::support::Draft;
use crate::copy::fell::{percent, rate};
use crate::losses::Losses;
use crate::packets::facts::Side;
use crate::stream::{StreamView, streams};
use crate::view::View;

pub(crate) const CAUSE: Cause = Cause {
    code: "rate-after-burst",
    find,
};

/// A rate that varies by more than this is not the work of a bucket.
pub(crate) const STEADY: f64 = 0.25;

/// Of the segments, lost for a policer to be likely.
const DROPPING: f64 = 0.002;

fn find(view: &View<'_>, _: &mut Losses) -> Vec<Finding> {
    streams(view.case).iter().filter_map(limit).collect()
}

fn limit(stream: &StreamView<'_>) -> Option<Finding> {
    let (change, unsteadiness) = (stream.change?, stream.unsteadiness?);
    let facts = &stream.facts;
    let sender = facts.phase.sender.stream.as_ref()?;
    if unsteadiness > STEADY
        || change.after_mb_per_s <= 0.0
        || !stream.reader_waited()
        || receive_merging::stall(stream).is_some()
    {
        return None;
    }
    let dropping = sender.lost().0 as f64 > DROPPING * sender.segments.0 as f64;
    let confidence = match dropping {
        true => Confidence::Likely,
        false => Confidence::Possible,
    };
    let place = Place {
        host: Some(facts.host(Side::Sender).clone()),
        peer: Some(facts.host(Side::Receiver).clone()),
        link: Some(facts.link().clone()),
        interface: facts.interface(Side::Sender).map(|(name, _)| name.clone()),
        object: None,
    };
    let draft = Draft::new(CAUSE.code, Severity::Warning, confidence, place)
        .fall(&change)
        .number("burst_bytes", change.ahead_bytes)
        .number("bits_per_s", 8 * rate(change.after_mb_per_s))
        .number("unsteady_percent", percent(unsteadiness))
        .number("segments", sender.segments.0)
        .number("lost", sender.lost().0);
    Some(draft.done())
}
