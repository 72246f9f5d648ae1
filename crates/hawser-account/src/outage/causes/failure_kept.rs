//! A start failed, and Pacemaker did not try it there again although nothing stood in its way any more.
//!
//! Evidence: the failed start and the moment its fail count was unset, both in the engine's log, and
//! nothing else going on between them. Certain; a warning from one second on. Case: `drill/failed-start`.

use hawser_model::finding::{Confidence, Finding, Severity};

use super::{DrillCause, outage_ms, place};
use crate::causes::support::Draft;
use crate::outage::marks::Mark;
use crate::outage::phase::Phase;
use crate::outage::view::DrillView;

pub(super) const CAUSE: DrillCause = DrillCause {
    code: "failed-start-kept",
    find,
};

const LEAST_MS: u64 = 1000;

fn find(view: &DrillView<'_>) -> Option<Finding> {
    let waited = view.ms(Phase::FailureKept);
    let end = view.of(Phase::FailureKept).last()?.to;
    if waited < LEAST_MS {
        return None;
    }
    let forgiven = view.marks.iter().find_map(|mark| match &mark.mark {
        Mark::StartForgiven(forgiven) if mark.at == end => Some(forgiven),
        _ => None,
    })?;
    let draft = Draft::new(
        CAUSE.code,
        Severity::Warning,
        Confidence::Certain,
        place(Some(&forgiven.host), Some(&forgiven.resource)),
    );
    let draft = draft
        .number("waited_ms", waited)
        .number("outage_ms", outage_ms(view));
    Some(draft.done())
}
