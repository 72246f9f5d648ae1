//! Something on the way lets a burst of a stream pass and then no more than a rate: a policer or
//! shaper (a switch port's rate limit, a provider's committed rate, `tc police`, `tbf`). It looks
//! like a receiver that loses what it merged, and is not: the rate that is left is steady.
//!
//! Evidence: a stream fell to a steady rate while its reader waited for data, and it is no
//! [`crate::causes::receive_merging_stall`]. With segments lost it is likely (a policer drops what is
//! over); without it is possible (a shaper holds it back, and so would other traffic that began
//! then), and only if the rate stands still: what a busy machine leaves a stream goes up and down. A warning: a
//! limit may be meant. Cases: `stream-policer`, `stream-shaper`; not `stream-fell-busy`.

use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::units::{BitsPerSec, Bytes};
use serde::Serialize;

use super::{DROPPING, RateAfterBurst, STEADY, STILL};
use crate::cause::{Cause, CheckCause, Found, Words, way};
use crate::causes::receive_merging_stall::stream as receive_merging;
use crate::copy::fell::{Fell, percent, rate};
use crate::losses::Losses;
use crate::packets::facts::Side;
use crate::stream::{StreamView, streams};
use crate::view::View;

#[derive(Serialize)]
pub(crate) struct LimitedStream {
    #[serde(flatten)]
    fell: Fell,
    burst_bytes: Bytes,
    bits_per_s: BitsPerSec,
    unsteady_percent: u64,
    segments: u64,
    lost: u64,
}

impl CheckCause for LimitedStream {
    fn find(view: &View<'_>, _: &mut Losses) -> Vec<Found<Self>> {
        streams(view.case).iter().filter_map(limit).collect()
    }
}

impl Cause for LimitedStream {
    const CODE: &'static str = RateAfterBurst::CODE;
    const PAGE: &'static str = RateAfterBurst::PAGE;

    fn words(&self, at: &Place) -> Words {
        let what = match self.lost {
            0 => "Nothing was dropped: excess traffic waits in a queue, or other traffic began at \
                  that moment"
                .to_owned(),
            lost => format!("TCP retransmitted {lost} of {} segments", self.segments),
        };
        let (rate, burst) = (self.bits_per_s, self.burst_bytes);
        Words {
            text: format!(
                "The TCP stream {} {} and stayed there (within {} %). Something on the way lets \
                 a burst of about {burst} pass and then {rate}: a policer or shaper. {what}. Neither disk nor \
                 receive window held it back.",
                way(at),
                self.fell,
                self.unsteady_percent.max(1),
            ),
            fix: format!(
                "Look for a rate limit of {rate} with a burst of {burst}: `tc -s qdisc show` and `tc -s filter \
                 show dev IFACE ingress` on both hosts, the switch port's policer or storm control, a \
                 hypervisor's or provider's limit."
            ),
        }
    }
}

pub(crate) fn limit(stream: &StreamView<'_>) -> Option<Found<LimitedStream>> {
    let (change, unsteadiness) = (stream.change?, stream.unsteadiness?);
    let facts = &stream.facts;
    let sender = facts.phase.sender.stream.as_ref()?;
    let dropping = sender.lost().0 as f64 > DROPPING * sender.segments.0 as f64;
    let steady = if dropping { STEADY } else { STILL };
    if unsteadiness > steady
        || change.after_mb_per_s <= 0.0
        || !stream.reader_waited()
        || receive_merging::stall(stream).is_some()
    {
        return None;
    }
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
    Some(Found {
        severity: Severity::Warning,
        confidence,
        place,
        evidence: LimitedStream {
            fell: Fell::at(&change),
            burst_bytes: Bytes(change.ahead_bytes),
            bits_per_s: BitsPerSec(8 * rate(change.after_mb_per_s)),
            unsteady_percent: percent(unsteadiness),
            segments: sender.segments.0,
            lost: sender.lost().0,
        },
    })
}
