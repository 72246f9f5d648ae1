//! Fencing failed, and the takeover waited until somebody mended it or said that the node is off.
//!
//! Evidence: the fencer's own failure in its log, and the moment of the healing. Certain; an
//! error, unless the scenario had made fencing impossible on purpose, in which waiting is right.
//! Case: `drill/bmc-unreachable`.

use hawser_model::finding::{Confidence, Finding, Severity};

use super::{DrillCause, outage_ms, place};
use crate::causes::support::Draft;
use crate::outage::phase::Phase;
use crate::outage::view::DrillView;

pub(super) const CAUSE: DrillCause = DrillCause {
    code: "takeover-waited-for-human",
    find,
};

fn find(view: &DrillView<'_>) -> Option<Finding> {
    let waited = view.of(Phase::Human).next()?;
    let severity = match view.case.scenario.promises.no_takeover {
        true => Severity::Note,
        false => Severity::Error,
    };
    let draft = Draft::new(
        CAUSE.code,
        severity,
        Confidence::Certain,
        place(Some(&waited.host), None),
    );
    let draft = draft
        .number("waited_ms", view.ms(Phase::Human))
        .number("outage_ms", outage_ms(view));
    Some(draft.done())
}
