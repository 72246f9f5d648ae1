//! The interfaces of a host's own receivers are set so that it serves fewer than when their work is
//! spread: nothing is set, or all of them hand their packets to one processor.
//!
//! Evidence: the same host, flow and processors serve a fifth more with each receiver's interface
//! handing its copy to a processor of its own than with the settings that were found on the host; and
//! the packets were lost at a processor's backlog (certain), or the other processors had time to spare
//! (likely). A warning. Measured by a tune alone, which can do something about it. Case:
//! `fanout-not-spread`.

use hawser_model::fanout::Spread;
use hawser_model::finding::Finding;
use hawser_model::output::fanout::FanoutResult;

use super::gain::Gain;
use super::{FanoutCause, FanoutView};

pub(super) const CAUSE: FanoutCause = FanoutCause {
    code: "fanout-not-spread",
    find,
};

fn find(view: &FanoutView<'_>) -> Vec<Finding> {
    let found = view.results.iter();
    found
        .filter(|r| r.spread == Spread::AsSet)
        .filter_map(|as_set| finding(view, as_set))
        .collect()
}

fn finding(view: &FanoutView<'_>, as_set: &FanoutResult) -> Option<Finding> {
    let gain = Gain::over(view, as_set)?;
    let mut finding = gain.finding(CAUSE.code, "receivers_as_set", view, as_set);
    finding.place.interface = view.run.hosts.get(&as_set.host)?.bridge.clone();
    Some(finding)
}
