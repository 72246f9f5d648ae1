//! Pacemaker found the processors so busy that it allowed one operation at a time: each start
//! waited for the first check of what was started before.
//!
//! Evidence: a controller's own word for the load, on any node (the one that decides counts the jobs
//! of all), not older than a minute (it looks every 30 s),
//! and first checks in which nothing else of the pool ran. Likely, since an order between resources
//! looks the same; a warning from 100 ms on. Case: `drill/engine-throttled`.

use hawser_model::finding::{Confidence, Place, Severity};
use serde::Serialize;

use crate::cause::{Cause, Found, OutageCause, Words, host};
use crate::outage::log_lines::Mark;
use crate::outage::millis::Millis;
use crate::outage::phase::Phase;
use crate::outage::view::DrillView;

#[derive(Serialize)]
pub(crate) struct EngineThrottled {
    checks_ms: Millis,
    outage_ms: Millis,
}

const LEAST: Millis = Millis(100);
const FRESH_US: u64 = 60_000_000;

impl OutageCause for EngineThrottled {
    const IN_LOGS: bool = true;

    fn find(view: &DrillView<'_>) -> Option<Found<Self>> {
        let waited = view.ms(Phase::FirstCheck);
        let first = view.of(Phase::FirstCheck).next()?;
        let throttled = view.marks.iter().any(|mark| {
            let fresh = mark.at <= first.from && first.from.0 - mark.at.0 <= FRESH_US;
            fresh && mark.mark == Mark::Throttled
        });
        (throttled && waited >= LEAST).then(|| Found {
            severity: Severity::Warning,
            confidence: Confidence::Likely,
            place: Place::on(&first.host),
            evidence: Self {
                checks_ms: waited,
                outage_ms: view.outage_ms(),
            },
        })
    }
}

impl Cause for EngineThrottled {
    const CODE: &'static str = "engine-throttled";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        Words {
            text: format!(
                "Pacemaker found the processors of {} busy and allowed one operation at a time: starts \
                 waited for the first checks of what had been started, {}.",
                host(at),
                self.checks_ms.of(self.outage_ms),
            ),
            fix: "Set the cluster property `load-threshold` higher (80 % by default), in `[cluster] \
                  properties` of the cluster file. Price: on a head that is really busy more agents \
                  run at once and each takes longer, up to the operations' time limits. If the load is not \
                  usual, look for what made it."
                .to_owned(),
        }
    }
}
