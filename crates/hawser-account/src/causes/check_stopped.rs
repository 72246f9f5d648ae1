//! The check ended early, because a cluster engine on a host reported trouble (or the run
//! failed), so that it does not lose a token to a measurement. What was not measured is not
//! known to be good.
//!
//! Evidence: the case says so. Certain; a warning. Case: `check-stopped`.

use hawser_model::finding::{Confidence, Finding, Place, Severity};

use super::Cause;
use super::support::Draft;
use crate::losses::Losses;
use crate::view::View;

pub(super) const CAUSE: Cause = Cause {
    code: "check-stopped",
    find,
};

fn find(view: &View<'_>, _: &mut Losses) -> Vec<Finding> {
    let stopped = view.case.stopped.as_ref();
    let found = stopped.map(|stopped| {
        let place = Place {
            host: Some(stopped.host.clone()),
            object: Some(stopped.what.clone()),
            ..Place::default()
        };
        Draft::new(CAUSE.code, Severity::Warning, Confidence::Certain, place)
            .number("measurements_done", view.case.measurements.len() as u64)
            .done()
    });
    found.into_iter().collect()
}
