//! What spreading the work gains over a way of working it off that does not.

use hawser_model::fanout::Spread;
use hawser_model::finding::{Confidence, Finding, Place, Severity};
use hawser_model::output::fanout::{FanoutLimit, FanoutResult};

use super::FanoutView;
use crate::causes::support::Draft;

/// Less than this is within what two searches differ by.
const GAIN: f64 = 1.2;

/// The others have so much to spare that spreading the work could have helped.
const SPARE: f64 = 0.15;

/// A way of spreading that serves so many more that it matters.
pub(super) struct Gain<'a> {
    served: u32,
    better: u32,
    how: Spread,
    limit: &'a FanoutLimit,
    at_backlog: bool,
}

impl<'a> Gain<'a> {
    /// Over what `base` served; `None` where spreading gains nothing, or where every processor was
    /// exhausted, so that it is not for want of spreading.
    pub(super) fn over(view: &FanoutView<'_>, base: &'a FanoutResult) -> Option<Self> {
        let served = base.most_receivers?;
        let limit = base.limit.as_ref()?;
        let spread = |spread| {
            let result = view.result(&base.host, base.rate, spread)?;
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
        Some(Self {
            served,
            better,
            how,
            limit,
            at_backlog,
        })
    }

    /// The finding of it; `served` is the evidence's name for what `base` served.
    pub(super) fn finding(
        &self,
        code: &'static str,
        served: &'static str,
        view: &FanoutView<'_>,
        base: &FanoutResult,
    ) -> Finding {
        let place = Place {
            host: Some(base.host.clone()),
            object: Some(format!("{} of {} bytes", base.rate, view.run.payload)),
            ..Place::default()
        };
        let confidence = match self.at_backlog {
            true => Confidence::Certain,
            false => Confidence::Likely,
        };
        let percent = |share: f64| (share * 100.0).round() as u64;
        let limit = self.limit;
        let draft = Draft::new(code, Severity::Warning, confidence, place)
            .number("rate_packets_per_s", base.rate.0)
            .number("payload_bytes", u64::from(view.run.payload))
            .number(served, u64::from(self.served))
            .number("receivers_spread", u64::from(self.better))
            .name("spread", self.how.word())
            .number("too_many_receivers", u64::from(limit.receivers))
            .number("processor", u64::from(limit.processor))
            .number("busy_percent", percent(limit.busy_share))
            .number("softirq_percent", percent(limit.softirq_share))
            .number("backlog_dropped_packets", limit.backlog_drops.0)
            .maybe("count_only", view.run.count_only.then_some(1))
            .maybe("others_idle_percent", limit.others_idle_share.map(percent));
        draft.done()
    }
}
