//! Exports of one pool were started one after the other, although none needs another.
//!
//! As a group in Pacemaker does it: each member waits for the one before it.
//!
//! Evidence: two start operations or more of the pool's exports, none of which overlaps another, in
//! the controller's log. Certain; a warning when all but the longest took 200 ms or more. Case:
//! `drill/serial-exports`.

use hawser_model::finding::{Confidence, Finding, Severity};

use super::{DrillCause, outage_ms, place};
use crate::causes::support::Draft;
use crate::outage::spans::{Part, own_pool, part, ran};
use crate::outage::view::DrillView;

pub(super) const CAUSE: DrillCause = DrillCause {
    code: "serial-exports",
    find,
};

const LEAST_MS: u64 = 200;

fn find(view: &DrillView<'_>) -> Option<Finding> {
    let facts = view.facts();
    let pool = own_pool(&facts)?;
    let exports: Vec<&str> = {
        let resources = pool.resources.iter().filter(|r| part(r) == Part::Exports);
        resources.map(|resource| resource.name.as_str()).collect()
    };
    let ran = ran(&facts);
    let starts: Vec<_> = ran
        .iter()
        .filter(|ran| {
            ran.operation.task == "start" && exports.contains(&ran.operation.resource.as_str())
        })
        .collect();
    let serial = starts.len() >= 2 && starts.windows(2).all(|pair| pair[0].to <= pair[1].from);
    let lengths = || starts.iter().map(|ran| (ran.to.0 - ran.from.0) / 1000);
    let (all, longest) = (lengths().sum::<u64>(), lengths().max()?);
    if !serial || all - longest < LEAST_MS {
        return None;
    }
    let draft = Draft::new(
        CAUSE.code,
        Severity::Warning,
        Confidence::Certain,
        place(
            starts.first().map(|ran| &ran.operation.host),
            Some(&pool.name),
        ),
    );
    let draft = draft
        .number("exports", starts.len() as u64)
        .number("exports_ms", all)
        .number("longest_ms", longest)
        .number("saved_ms", all - longest)
        .number("outage_ms", outage_ms(view));
    Some(draft.done())
}
