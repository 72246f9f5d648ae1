//! A direction of a link could not be measured: a socket could not be opened, a window not
//! read. No finding about it means nothing then.
//!
//! Evidence: the measurement's own list of problems. Certain; a warning. Case: `not-measured`.

use hawser_model::finding::{Confidence, Finding, Place, Severity};

use super::Cause;
use super::support::Draft;
use crate::losses::Losses;
use crate::view::View;

pub(super) const CAUSE: Cause = Cause {
    code: "not-measured",
    find,
};

fn find(view: &View<'_>, _: &mut Losses) -> Vec<Finding> {
    let with_problems = view
        .case
        .measurements
        .iter()
        .filter(|m| !m.problems.is_empty());
    with_problems
        .map(|m| {
            let place = Place {
                host: Some(m.from.clone()),
                peer: Some(m.to.clone()),
                link: Some(m.link.clone()),
                interface: None,
                object: Some(m.problems.join("; ")),
            };
            Draft::new(CAUSE.code, Severity::Warning, Confidence::Certain, place)
                .number("problems", m.problems.len() as u64)
                .number("phases_measured", m.phases.len() as u64)
                .done()
        })
        .collect()
}
