//! A direction of a link could not be measured: a socket could not be opened, a window not
//! read. No finding about it means nothing then.
//!
//! Evidence: the measurement's own list of problems. Certain; a warning. Case: `not-measured`.

use hawser_model::case::Measurement;
use hawser_model::finding::{Confidence, Finding, Place, Severity};

use super::Cause;
use super::join_refused::is_refused_join;
use super::support::Draft;
use crate::losses::Losses;
use crate::view::View;

pub(super) const CAUSE: Cause = Cause {
    code: "not-measured",
    find,
};

fn find(view: &View<'_>, _: &mut Losses) -> Vec<Finding> {
    let others = |m: &Measurement| -> Vec<String> {
        // A refused join has a cause of its own.
        let problems = m.problems.iter();
        problems.filter(|p| !is_refused_join(p)).cloned().collect()
    };
    let measurements = view.case.measurements.iter();
    measurements
        .map(|m| (m, others(m)))
        .filter(|(_, problems)| !problems.is_empty())
        .map(|(m, problems)| {
            let place = Place {
                host: Some(m.from.clone()),
                peer: Some(m.to.clone()),
                link: Some(m.link.clone()),
                interface: None,
                object: Some(problems.join("; ")),
            };
            Draft::new(CAUSE.code, Severity::Warning, Confidence::Certain, place)
                .number("problems", problems.len() as u64)
                .number("phases_measured", m.phases.len() as u64)
                .done()
        })
        .collect()
}
