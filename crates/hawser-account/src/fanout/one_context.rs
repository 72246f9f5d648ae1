//! One processor copies a flow for all receivers of a host and delivers to all of them, and others that
//! could help do not: a card's one interrupt for the flow. The case of
//! "Multicast Performance on vSphere 5.0": 20 receivers, and 28 when the work was split.
//!
//! Evidence: the same host, flow and processors serve a fifth more receivers when each receiver's
//! interface hands its copy to a processor of its own; and the packets were lost at that processor's
//! backlog (certain), or the other processors had time to spare (likely). A warning. Case:
//! `fanout-one-context`.

use hawser_model::fanout::Spread;
use hawser_model::finding::{Confidence, Finding, Place, Severity};
use hawser_model::output::fanout::FanoutResult;

use super::{FanoutCause, FanoutView};
use crate::causes::support::Draft;

pub(super) const CAUSE: FanoutCause = FanoutCause {
    code: "fanout-one-context",
    find,
};

/// Less than this is within what two searches differ by.
const GAIN: f64 = 1.2;

/// The others have so much to spare that spreading the work could have helped.
const SPARE: f64 = 0.15;

fn find(view: &FanoutView<'_>) -> Vec<Finding> {
    let ones = view.results.iter();
    ones.filter(|r| r.spread == Spread::OneContext)
        .filter_map(|one| finding(view, one))
        .collect()
}

fn finding(view: &FanoutView<'_>, one: &FanoutResult) -> Option<Finding> {
    let served = one.most_receivers?;
    let limit = one.limit.as_ref()?;
    let spread = |spread| {
        let result = view.result(&one.host, one.rate, spread)?;
        Some((result.most_receivers?, spread))
    };
    // Of equal ones the one that sets less.
    let (better, how) = [spread(Spread::Threaded), spread(Spread::Split)]
        .into_iter()
        .flatten()
        .max_by_key(|(most, _)| *most)?;
    if f64::from(better) < GAIN * f64::from(served.max(1)) || better <= served {
        return None;
    }
    let at_backlog = limit.backlog_drops > limit.socket_drops + limit.other_drops;
    // Where every processor is exhausted and programs do not get to read, it is not the context.
    if !at_backlog && limit.others_idle_share.is_none_or(|idle| idle < SPARE) {
        return None;
    }
    let place = Place {
        host: Some(one.host.clone()),
        object: Some(format!("{} of {} bytes", one.rate, view.run.payload)),
        ..Place::default()
    };
    let confidence = match at_backlog {
        true => Confidence::Certain,
        false => Confidence::Likely,
    };
    let percent = |share: f64| (share * 100.0).round() as u64;
    let draft = Draft::new(CAUSE.code, Severity::Warning, confidence, place)
        .number("rate_packets_per_s", one.rate.0)
        .number("payload_bytes", u64::from(view.run.payload))
        .number("receivers_one_context", u64::from(served))
        .number("receivers_spread", u64::from(better))
        .name("spread", how.word())
        .number("too_many_receivers", u64::from(limit.receivers))
        .number("processor", u64::from(limit.processor))
        .number("busy_percent", percent(limit.busy_share))
        .number("softirq_percent", percent(limit.softirq_share))
        .number("backlog_dropped_packets", limit.backlog_drops.0)
        .maybe("others_idle_percent", limit.others_idle_share.map(percent));
    Some(draft.done())
}
