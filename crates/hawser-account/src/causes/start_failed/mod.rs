//! A resource of the pool did not start on a head: its agent refused, failed or took too long.
//!
//! Evidence: the failed start in the engine's log, with the agent's own words, and when the resource started after all. Certain; a
//! warning. Cases: `drill/failed-start` (the agent's output), `drill/start-failed` (its exit reason).

use hawser_model::drill::Moment;
use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::names::HostName;
use serde::Serialize;

use crate::cause::{Cause, Found, OutageCause, Words, host};
use crate::outage::log_lines::{Mark, Operation};
use crate::outage::millis::Millis;
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
        let agent_of = |operation: &Operation| {
            let own = pool.resources.iter();
            let mut own = own.filter(|it| it.name == operation.resource);
            own.next().map(|it| it.agent.clone())
        };
        let inside = view.outage.from..=view.outage.to;
        let (index, failed, agent) = view.marks.iter().enumerate().find_map(|(index, mark)| {
            let Mark::OperationEnded(operation, false) = &mark.mark else {
                return None;
            };
            let is_start = operation.task == "start" && inside.contains(&mark.at);
            let agent = agent_of(operation).filter(|_| is_start)?;
            Some((index, operation, agent))
        })?;
        let (before, after) = view.marks.split_at(index);
        let ended = view.marks[index].at;
        let begun = before.iter().rev().find_map(|mark| match &mark.mark {
            Mark::OperationBegun(operation) if operation == failed => Some(mark.at),
            _ => None,
        })?;
        let again = after.iter().find_map(|mark| match &mark.mark {
            Mark::OperationEnded(operation, true)
                if operation.task == "start" && operation.resource == failed.resource =>
            {
                Some((mark.at, &operation.host))
            }
            _ => None,
        });
        let again = again.filter(|(at, _)| inside.contains(at));
        let between = |from: Moment, to: Moment| Millis(to.0.saturating_sub(from.0) / 1000);
        Some(Found {
            severity: Severity::Warning,
            confidence: Confidence::Certain,
            place: Place::of(&failed.resource, Some(&failed.host)),
            evidence: Self {
                agent,
                failed_ms: between(begun, ended),
                said: start_result::said(view.case, &failed.host, &failed.resource, (begun, ended)),
                again_ms: again.map(|(at, _)| between(ended, at)),
                again_on: again.map(|(_, host)| host.clone()),
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
