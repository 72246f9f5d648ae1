//! The check ended early, because a cluster engine on a host reported trouble (or the run
//! failed), so that it does not lose a token to a measurement. What was not measured is not
//! known to be good.
//!
//! Evidence: the case says so. Certain; a warning. Case: `check-stopped`.

use hawser_model::finding::{Confidence, Place, Severity};
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words, counted, host};
use crate::losses::Losses;
use crate::view::View;

#[derive(Serialize)]
pub(crate) struct CheckStopped {
    measurements_done: u64,
}

impl CheckCause for CheckStopped {
    fn find(view: &View<'_>, _: &mut Losses) -> Vec<Found<Self>> {
        let stopped = view.case.stopped.as_ref();
        let found = stopped.map(|stopped| Found {
            severity: Severity::Warning,
            confidence: Confidence::Certain,
            place: Place::of(&stopped.what, Some(&stopped.host)),
            evidence: Self {
                measurements_done: view.case.measurements.len() as u64,
            },
        });
        found.into_iter().collect()
    }
}

impl Cause for CheckStopped {
    const CODE: &'static str = "check-stopped";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        Words {
            text: format!(
                "The check ended early because of {}: {}. {} had been made; of the rest nothing is \
                 known.",
                host(at),
                at.object.as_deref().unwrap_or("no reason was recorded"),
                counted(self.measurements_done, "measurement"),
            ),
            fix: "See to the cluster engine first (`corosync-cfgtool -s`, `journalctl -u corosync`), \
                  then repeat the check; at a lower rate, or in a maintenance window."
                .to_owned(),
        }
    }
}
