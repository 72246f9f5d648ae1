//! Mounting or importing the pool took long: a journal to replay, a file system check, many
//! devices to look through, or ZFS's wait for the other host's activity (`multihost`).
//!
//! Evidence: the length of the start operation of the pool's storage. Certain; a warning from two
//! seconds on. Case: `drill/slow-import`.

use hawser_model::finding::{Confidence, Finding, Severity};

use super::{DrillCause, outage_ms, place};
use crate::causes::support::Draft;
use crate::outage::phase::Phase;
use crate::outage::view::DrillView;

pub(super) const CAUSE: DrillCause = DrillCause {
    code: "slow-import",
    find,
};

const LEAST_MS: u64 = 2000;

fn find(view: &DrillView<'_>) -> Option<Finding> {
    let took = view.ms(Phase::Pool);
    let span = view.of(Phase::Pool).last().filter(|_| took >= LEAST_MS)?;
    let pool = view.own_pool()?;
    let agent = pool.resources.first().map_or("", |r| r.agent.as_str());
    let draft = Draft::new(
        CAUSE.code,
        Severity::Warning,
        Confidence::Certain,
        place(Some(&span.host), Some(&pool.name)),
    );
    let draft = draft
        .number("pool_ms", took)
        .name("agent", agent)
        .number("outage_ms", outage_ms(view));
    Some(draft.done())
}
