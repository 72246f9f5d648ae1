//! Part of the outage is marked by nothing: no log line, no operation, no event of the client.
//!
//! Evidence: what the phases leave of it. Certain, since it is a remainder; a note from 50 ms on.
//! Case: `drill/logs-missing`.

use hawser_model::finding::{Confidence, Finding, Severity};

use super::{DrillCause, outage_ms, place};
use crate::causes::support::Draft;
use crate::outage::view::DrillView;

pub(super) const CAUSE: DrillCause = DrillCause {
    code: "unattributed-outage",
    find,
};

const LEAST_MS: u64 = 50;

fn find(view: &DrillView<'_>) -> Option<Finding> {
    let rest = view.account.unattributed_us / 1000;
    if rest < LEAST_MS {
        return None;
    }
    let logs = view.case.logs.values();
    let without = logs.filter(|logs| logs.pacemaker.is_empty()).count();
    let draft = Draft::new(
        CAUSE.code,
        Severity::Note,
        Confidence::Certain,
        place(None, None),
    );
    let draft = draft
        .number("unattributed_ms", rest)
        .number("nodes_without_log", without as u64)
        .number("outage_ms", outage_ms(view));
    Some(draft.done())
}
