//! Fencing failed, and the takeover waited until somebody mended it or said that the node is off.
//!
//! Evidence: the fencer's own failure in its log and the moment of the healing, certain; or a fence
//! agent that came through only after it, likely. An error, unless the scenario had made fencing impossible on purpose, in which waiting is right.
//! Cases: `drill/fencing-failed`,
//! `drill/bmc-unreachable`.

use hawser_model::finding::{Confidence, Finding, Severity};
use hawser_model::names::HostName;

use super::{DrillCause, outage_ms, place};
use crate::causes::support::Draft;
use crate::outage::phase::Phase;
use crate::outage::view::DrillView;

pub(super) const CAUSE: DrillCause = DrillCause {
    code: "takeover-waited-for-human",
    find,
};

fn find(view: &DrillView<'_>) -> Option<Finding> {
    let (host, waited, confidence) = match view.of(Phase::Human).next() {
        Some(span) => (&span.host, view.ms(Phase::Human), Confidence::Certain),
        None => held_up(view)?,
    };
    let severity = match view.case.scenario.promises.no_takeover {
        true => Severity::Note,
        false => Severity::Error,
    };
    let draft = Draft::new(CAUSE.code, severity, confidence, place(Some(host), None));
    let draft = draft
        .number("waited_ms", waited)
        .number("outage_ms", outage_ms(view));
    Some(draft.done())
}

/// A fence agent that had not failed yet, and came through only after a fault was healed.
fn held_up<'v>(view: &'v DrillView<'_>) -> Option<(&'v HostName, u64, Confidence)> {
    let healed = view
        .case
        .faults
        .iter()
        .filter_map(|fault| fault.heal_ordered)
        .min()?;
    let span = view
        .of(Phase::FenceAgent)
        .find(|span| span.from < healed && healed < span.to)?;
    let waited = (healed.0 - span.from.0) / 1000;
    Some((&span.host, waited, Confidence::Likely))
}
