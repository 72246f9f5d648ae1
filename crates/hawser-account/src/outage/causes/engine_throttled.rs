//! Pacemaker found the processors so busy that it allowed one operation at a time: each start
//! waited for the first check of what was started before.
//!
//! Evidence: a controller's own word for the load, on any node (the one that decides counts the jobs
//! of all), not older than a minute (it looks every 30 s),
//! and first checks in which nothing else of the pool ran. Likely, since an order between resources
//! looks the same; a warning from 100 ms on. Case: `drill/engine-throttled`.

use hawser_model::finding::{Confidence, Finding, Severity};

use super::{DrillCause, outage_ms, place};
use crate::causes::support::Draft;
use crate::outage::marks::Mark;
use crate::outage::phase::Phase;
use crate::outage::view::DrillView;

pub(super) const CAUSE: DrillCause = DrillCause {
    code: "engine-throttled",
    find,
};

const LEAST_MS: u64 = 100;
const FRESH_US: u64 = 60_000_000;

fn find(view: &DrillView<'_>) -> Option<Finding> {
    let waited = view.ms(Phase::FirstCheck);
    let first = view.of(Phase::FirstCheck).next()?;
    let throttled = view.marks.iter().any(|mark| {
        let fresh = mark.at <= first.from && first.from.0 - mark.at.0 <= FRESH_US;
        fresh && mark.mark == Mark::Throttled
    });
    if !throttled || waited < LEAST_MS {
        return None;
    }
    let draft = Draft::new(
        CAUSE.code,
        Severity::Warning,
        Confidence::Likely,
        place(Some(&first.host), None),
    );
    let draft = draft
        .number("checks_ms", waited)
        .number("outage_ms", outage_ms(view));
    Some(draft.done())
}
