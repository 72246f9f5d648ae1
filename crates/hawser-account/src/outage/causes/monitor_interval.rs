//! Nobody noticed until a monitor operation came round: the node lives, a resource does not.
//!
//! Evidence: the time from the fault to the failed monitor operation in the controller's log.
//! Certain; a warning from one second on. Case: `drill/target-killed`.

use hawser_model::finding::{Confidence, Finding, Severity};

use super::{DrillCause, outage_ms, place};
use crate::causes::support::Draft;
use crate::outage::marks::Mark;
use crate::outage::phase::Phase;
use crate::outage::view::DrillView;

pub(super) const CAUSE: DrillCause = DrillCause {
    code: "monitor-interval",
    find,
};

const LEAST_MS: u64 = 1000;

fn find(view: &DrillView<'_>) -> Option<Finding> {
    let waited = view.ms(Phase::Monitor);
    let end = view.of(Phase::Monitor).next()?.to;
    if waited < LEAST_MS {
        return None;
    }
    let found = view.marks.iter().find_map(|mark| match &mark.mark {
        Mark::OperationEnded(operation, false) if mark.at == end => Some(operation),
        _ => None,
    });
    let found = found?;
    let draft = Draft::new(
        CAUSE.code,
        Severity::Warning,
        Confidence::Certain,
        place(Some(&found.host), Some(&found.resource)),
    );
    let draft = draft
        .number("waited_ms", waited)
        .number("outage_ms", outage_ms(view));
    Some(draft.done())
}
