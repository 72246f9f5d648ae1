//! A start failed, and Pacemaker did not try it there again although nothing stood in its way any more.
//!
//! Evidence: the failed start and the moment its fail count was unset, both in the engine's log, and
//! nothing else going on between them. Certain; a warning from one second on. Case: `drill/failed-start`.

use hawser_model::finding::{Confidence, Place, Severity};
use serde::Serialize;

use crate::cause::{Cause, Found, OutageCause, Words, host};
use crate::outage::log_lines::Mark;
use crate::outage::millis::Millis;
use crate::outage::phase::Phase;
use crate::outage::view::DrillView;

#[derive(Serialize)]
pub(crate) struct FailedStartKept {
    waited_ms: Millis,
    outage_ms: Millis,
}

const LEAST: Millis = Millis(1000);

impl OutageCause for FailedStartKept {
    const IN_LOGS: bool = true;

    fn find(view: &DrillView<'_>) -> Option<Found<Self>> {
        let waited = view.ms(Phase::FailureKept);
        let end = view.of(Phase::FailureKept).last()?.to;
        let forgiven = view.marks.iter().find_map(|mark| match &mark.mark {
            Mark::StartForgiven(forgiven) if mark.at == end => Some(forgiven),
            _ => None,
        })?;
        (waited >= LEAST).then(|| Found {
            severity: Severity::Warning,
            confidence: Confidence::Certain,
            place: Place::of(&forgiven.resource, Some(&forgiven.host)),
            evidence: Self {
                waited_ms: waited,
                outage_ms: view.outage_ms(),
            },
        })
    }
}

impl Cause for FailedStartKept {
    const CODE: &'static str = "failed-start-kept";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        Words {
            text: format!(
                "{} had failed to start on {}, and was not tried there again for {} after the faults were \
                 healed: {}.",
                at.object.as_deref().unwrap_or("A resource"),
                host(at),
                self.waited_ms,
                self.waited_ms.of(self.outage_ms),
            ),
            fix: "`crm_resource --cleanup` as soon as what kept it from starting is mended; or a \
                  `failure-timeout` on the resource, after which Pacemaker tries again by itself. Price: a \
                  resource that still cannot start is then tried, and times out, again and again."
                .to_owned(),
        }
    }
}
