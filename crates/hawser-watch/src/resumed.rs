//! The alarms of a watch on their way to the head's disk, for the watch after it: what stood is not told again, and what has
//! ended meanwhile is told.

use std::time::Duration;

use hawser_agent::questions::KeepAlarms;
use hawser_host::Host;
use hawser_model::kept_alarms::{FoundAlarms, KeptAlarms};

/// What could not be kept is tried again after this.
const AGAIN: Duration = Duration::from_secs(60);

/// Who keeps the alarms of a watch.
#[derive(Debug, Default)]
pub(crate) struct AlarmsKept {
    /// As they are on the disk.
    kept: KeptAlarms,
    /// Why they were not kept the last time, and when that was.
    failed: Option<(Duration, String)>,
    said: Vec<String>,
}

impl AlarmsKept {
    /// Takes what the watch before this one kept.
    pub(crate) fn found(&mut self, found: FoundAlarms) -> KeptAlarms {
        if let Some(why) = found.problem {
            let words = format!("what was told before is not known, and is told again: {why}");
            self.said.push(words);
        }
        self.kept = found.alarms.clone();
        found.alarms
    }

    /// Keeps them if they are others than those on the disk.
    pub(crate) fn keep(&mut self, host: &mut dyn Host, now: Duration, alarms: KeptAlarms) {
        let waits = |(at, _): &(Duration, String)| now.saturating_sub(*at) < AGAIN;
        if self.kept.is_as(&alarms) || self.failed.as_ref().is_some_and(waits) {
            return;
        }
        let asked = KeepAlarms {
            alarms: alarms.clone(),
        };
        let before = self.failed.take();
        match host.ask(&asked) {
            Ok(()) => {
                self.kept = alarms;
                if before.is_some() {
                    self.said.push("alarms are kept again".to_owned());
                }
            }
            Err(e) => {
                let why = e.to_string();
                if before.is_none_or(|(_, before)| before != why) {
                    self.said.push(format!(
                        "alarms are not kept, so a watch that starts again tells them again: {why}"
                    ));
                }
                self.failed = Some((now, why));
            }
        }
    }

    /// What is to be said since it was asked last.
    pub(crate) fn said(&mut self) -> Vec<String> {
        std::mem::take(&mut self.said)
    }
}
