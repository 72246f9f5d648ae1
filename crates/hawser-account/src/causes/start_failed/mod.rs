//! A resource of the pool did not start on a head: its agent refused, failed or took too long.
//!
//! Evidence: the failed start in the engine's log, with the agent's own words, and when the resource started after all. Certain; a
//! warning. Cases: `drill/failed-start` (the agent's output), `drill/start-failed` (its exit reason).

use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::names::HostName;
use serde::Serialize;

use crate::cause::{Cause, Found, OutageCause, Words, host};
use crate::outage::log_lines::Operation;
use crate::outage::millis::Millis;
use crate::outage::spans::{Ran, ran};
use crate::outage::start_result;
use crate::outage::view::DrillView;

#[derive(Serialize)]
pub(crate) struct StartFailed {
    #[serde(skip_serializing_if = "String::is_empty")]
    agent: String,
    failed_ms: Millis,
    /// The agent's words, if it said any.
    #[serde(skip_serializing_if = "Option::is_none")]
    said: Option<String>,
    /// From the failure until it had started; none: not before the outage was over.
    #[serde(skip_serializing_if = "Option::is_none")]
    again_ms: Option<Millis>,
    /// Where.
    #[serde(skip_serializing_if = "Option::is_none")]
    again_on: Option<HostName>,
    outage_ms: Millis,
}

impl OutageCause for StartFailed {
    const IN_LOGS: bool = true;

    fn find(view: &DrillView<'_>) -> Option<Found<Self>> {
        let pool = view.own_pool()?;
        let ran = ran(&view.facts());
        let in_time = |it: &&Ran<'_>| it.to <= view.outage.to;
        let mut all = ran.iter().filter(in_time);
        let failed = all.find(|it| it.is_failed_start(pool))?;
        let Operation { resource, host, .. } = failed.operation;
        let again = all.find(|it| {
            let Operation {
                resource: started,
                task,
                ..
            } = it.operation;
            it.ok && task == "start" && started == resource && it.from >= failed.to
        });
        let own = pool.resources.iter().find(|it| it.name == *resource);
        Some(Found {
            severity: Severity::Warning,
            confidence: Confidence::Certain,
            place: Place::of(resource, Some(host)),
            evidence: Self {
                agent: own.map_or(String::new(), |it| it.agent.clone()),
                failed_ms: Millis::between(failed.from, failed.to),
                said: start_result::said(view.case, host, resource, (failed.from, failed.to)),
                again_ms: again.map(|it| Millis::between(failed.to, it.to)),
                again_on: again.map(|it| it.operation.host.clone()),
                outage_ms: view.outage_ms(),
            },
        })
    }
}

impl Cause for StartFailed {
    const CODE: &'static str = "start-failed";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        let resource = at.object.as_deref().unwrap_or("A resource");
        let by = match self.agent.as_str() {
            "" => String::new(),
            agent => format!(" ({agent})"),
        };
        // Stamps may be whole seconds.
        let after = match self.failed_ms {
            Millis(0) => String::new(),
            ms => format!(": it failed after {ms}"),
        };
        let (said, mend) = match &self.said {
            Some(said) => (
                format!("Its agent says: {}.", said.trim_end_matches('.')),
                "Mend what its agent names".to_owned(),
            ),
            None => (
                "The log does not say why.".to_owned(),
                format!(
                    "Look in pacemaker.log of {} for what its agent printed, and mend that",
                    host(at)
                ),
            ),
        };
        let again = match (self.again_ms, &self.again_on) {
            (Some(ms), Some(on)) => {
                format!(
                    "It started on {on} {ms} later, in an outage of {}",
                    self.outage_ms
                )
            }
            _ => format!(
                "It had not started when the outage of {} was over",
                self.outage_ms
            ),
        };
        Words {
            text: format!(
                "{resource}{by} did not start on {}{after}. {said} {again}.",
                host(at)
            ),
            fix: format!(
                "{mend}; then `crm_resource --cleanup --resource {resource}`. `hawser status` and `hawser plan` say of each head \
                 before such a day whether it sees the pool's disks. Price: what still cannot start fails again after the \
                 cleanup, and the pool may be stopped for it once more."
            ),
        }
    }
}
