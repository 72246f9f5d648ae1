//! A resource failed while its node lived, and Pacemaker noticed it at the next monitor operation.
//!
//! Evidence: the time from the fault to the failed monitor operation in the controller's log.
//! Certain; a warning from one second on. Case: `drill/target-killed`.

use hawser_model::finding::{Confidence, Place, Severity};
use serde::Serialize;

use crate::cause::{Cause, Found, OutageCause, Words, host};
use crate::outage::log_lines::Mark;
use crate::outage::millis::Millis;
use crate::outage::phase::Phase;
use crate::outage::view::DrillView;

#[derive(Serialize)]
pub(crate) struct MonitorInterval {
    waited_ms: Millis,
    outage_ms: Millis,
}

const LEAST: Millis = Millis(1000);

impl OutageCause for MonitorInterval {
    fn find(view: &DrillView<'_>) -> Option<Found<Self>> {
        let waited = view.ms(Phase::Monitor);
        let end = view.of(Phase::Monitor).next()?.to;
        let failed = view.marks.iter().find_map(|mark| match &mark.mark {
            Mark::OperationEnded(operation, false) if mark.at == end => Some(operation),
            _ => None,
        })?;
        // What a probe found, the interval did not hold up.
        (failed.recurs && waited >= LEAST).then(|| Found {
            severity: Severity::Warning,
            confidence: Confidence::Certain,
            place: Place::of(&failed.resource, Some(&failed.host)),
            evidence: Self {
                waited_ms: waited,
                outage_ms: view.outage_ms(),
            },
        })
    }
}

impl Cause for MonitorInterval {
    const CODE: &'static str = "monitor-interval";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        Words {
            text: format!(
                "{} on {} was dead for {} before Pacemaker asked it: {}.",
                at.object.as_deref().unwrap_or("A resource"),
                host(at),
                self.waited_ms,
                self.waited_ms.of(self.outage_ms),
            ),
            fix: "Shorten the interval of its monitor operation. Price: each monitor is a process that is \
                  started on the head; with many resources below 5 s they become a load of their own, \
                  and a monitor that times out under load moves a pool that was well."
                .to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::outage::explain_drill;

    const CASE: &str = include_str!("cases/drill/target-killed/case.json");

    fn is_found(text: &str) -> bool {
        let report = explain_drill(&serde_json::from_str(text).unwrap());
        report
            .findings
            .iter()
            .any(|it| it.finding.code == "monitor-interval")
    }

    /// Seen: exports that no monitor had complained of for two minutes, found dead by the probe after a clean-up.
    #[test]
    fn the_interval_is_not_blamed_for_what_a_probe_found() {
        assert!(is_found(CASE));
        assert!(!is_found(
            &CASE.replace("-exports_monitor_20000", "-exports_monitor_0")
        ));
    }
}
