//! A direction of a link could not be measured: a socket could not be opened, a window not
//! read. No finding about it means nothing then.
//!
//! Evidence: the measurement's own list of problems. Certain; a warning. Case: `not-measured`.

use hawser_model::case::Measurement;
use hawser_model::finding::{Confidence, Place, Severity};
use serde::Serialize;

use super::multicast_join_refused::is_refused_join;
use crate::cause::{Cause, CheckCause, Found, Words, way};
use crate::losses::Losses;
use crate::view::View;

#[derive(Serialize)]
pub(crate) struct NotMeasured {
    problems: u64,
    phases_measured: u64,
}

impl CheckCause for NotMeasured {
    fn find(view: &View<'_>, _: &mut Losses) -> Vec<Found<Self>> {
        let others = |m: &Measurement| -> Vec<String> {
            // A refused join has a cause of its own.
            let problems = m.problems.iter();
            problems.filter(|p| !is_refused_join(p)).cloned().collect()
        };
        let measurements = view.case.measurements.iter();
        measurements
            .map(|m| (m, others(m)))
            .filter(|(_, problems)| !problems.is_empty())
            .map(|(m, problems)| Found {
                severity: Severity::Warning,
                confidence: Confidence::Certain,
                place: Place {
                    peer: Some(m.to.clone()),
                    link: Some(m.link.clone()),
                    ..Place::of(&problems.join("; "), Some(&m.from))
                },
                evidence: Self {
                    problems: problems.len() as u64,
                    phases_measured: m.phases.len() as u64,
                },
            })
            .collect()
    }
}

impl Cause for NotMeasured {
    const CODE: &'static str = "not-measured";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        let way = way(at).replacen("from", "From", 1);
        Words {
            text: format!(
                "{way} not everything could be measured: {}. Nothing found there does not \
                 mean that nothing is wrong.",
                at.object.as_deref().unwrap_or("no reason was recorded"),
            ),
            fix: "Remove what the message names and repeat the check.".to_owned(),
        }
    }
}
