//! One processor copies a flow for all receivers of a host and delivers to all of them, and others that
//! could help do not: a card's one interrupt for the flow. The case of
//! "Multicast Performance on vSphere 5.0": 20 receivers, and 28 when the work was split.
//!
//! Evidence: the same host, flow and processors serve a fifth more receivers when each receiver's
//! interface hands its copy to a processor of its own; and the packets were lost at that processor's
//! backlog (certain), or the other processors had time to spare (likely). A warning. Case:
//! `fanout-one-context`.

use hawser_model::fanout::Spread;
use hawser_model::finding::Finding;
use hawser_model::output::fanout::FanoutResult;

use super::gain::Gain;
use super::{FanoutCause, FanoutView};

pub(super) const CAUSE: FanoutCause = FanoutCause {
    code: "fanout-one-context",
    find,
};

fn find(view: &FanoutView<'_>) -> Vec<Finding> {
    let ones = view.results.iter();
    ones.filter(|r| r.spread == Spread::OneContext)
        .filter_map(|one| finding(view, one))
        .collect()
}

fn finding(view: &FanoutView<'_>, one: &FanoutResult) -> Option<Finding> {
    let gain = Gain::over(view, one)?;
    Some(gain.finding(CAUSE.code, "receivers_one_context", view, one))
}
