//! The flight recorder: when something has happened, and it is quiet again, the lines about it are kept on the head.

use std::collections::BTreeMap;
use std::time::Duration;

use hawser_account::incident::lines;
use hawser_agent::questions::Pulse;
use hawser_cluster::host::KeptLogs;
use hawser_cluster::host::questions::{KeepLogs, ReadLogEnds};
use hawser_host::{Host, HostError};

use crate::history::{TAIL, files};

/// What was begun has ended after so long without a change; an account of logs takes it so too.
const QUIET: Duration = Duration::from_secs(35);

/// Where it is never quiet, it is kept so far after this; and what could not be kept is tried again.
const AT_LAST: Duration = Duration::from_secs(600);

/// What is to be kept, and what was.
#[derive(Debug, Default)]
pub struct Recorder {
    /// Folders of pools.
    pools: Vec<String>,
    /// The first and the last change since anything was kept.
    changed: Option<(Duration, Duration)>,
    /// Corosync's process and the length of its log, as they were last seen.
    seen: Option<(Option<u32>, Option<u64>)>,
    kept: BTreeMap<String, KeptLogs>,
    /// Why something was not kept the last time, and when it was tried.
    failed: Option<(Duration, String)>,
    said: Vec<String>,
}

impl Recorder {
    /// Keeps what it keeps below none of these folders of pools.
    pub fn new(pools: Vec<String>) -> Self {
        Self {
            pools,
            ..Self::default()
        }
    }

    /// Takes the pulse of this second; whether the logs are to be read now. The first pulse is a change: what happened
    /// while nobody watched is kept too.
    pub fn pulse(&mut self, now: Duration, pulse: &Pulse) -> bool {
        let seen = (pulse.corosync, pulse.corosync_log);
        if self.seen != Some(seen) || pulse.pacemaker_changed {
            self.seen = Some(seen);
            let first = self.changed.map_or(now, |(first, _)| first);
            self.changed = Some((first, now));
        }
        let due = self.changed.is_some_and(|(first, last)| {
            now.saturating_sub(last) >= QUIET || now.saturating_sub(first) >= AT_LAST
        });
        let again = self.failed.as_ref();
        let due = due || again.is_some_and(|(at, _)| now.saturating_sub(*at) >= AT_LAST);
        if due {
            self.changed = None;
        }
        due
    }

    /// When the logs began to change since what they tell was kept last; absent: nothing has changed since.
    pub fn open_since(&self) -> Option<Duration> {
        self.changed.map(|(first, _)| first)
    }

    /// Reads the ends of the head's logs and keeps the incidents in them that are new, or longer than when they were kept.
    ///
    /// # Errors
    /// The head does not answer, or cannot keep one of them: that is tried again after the next change, and in any case after ten
    /// minutes.
    pub fn keep(
        &mut self,
        host: &mut dyn Host,
        now: Duration,
        time_of_day: u64,
    ) -> Result<(), HostError> {
        let outcome = self.keep_new(host, time_of_day);
        let before = self.failed.take();
        match &outcome {
            Err(e) => {
                let why = e.to_string();
                if before.is_none_or(|(_, before)| before != why) {
                    let words =
                        format!("what happened is not kept: {why}; it is tried again each 10 min");
                    self.said.push(words);
                }
                self.failed = Some((now, why));
            }
            Ok(()) if before.is_some() => {
                let words = "what the logs still tell of incidents is kept";
                self.said.push(words.to_owned());
            }
            Ok(()) => {}
        }
        outcome
    }

    /// What there is to say of it since it was asked last.
    pub fn said(&mut self) -> Vec<String> {
        std::mem::take(&mut self.said)
    }

    fn keep_new(&mut self, host: &mut dyn Host, time_of_day: u64) -> Result<(), HostError> {
        let logs = host.ask(&ReadLogEnds { bytes: TAIL })?;
        let name = host.name().clone();
        let found = lines(&files(&name, logs.texts), &[], time_of_day);
        let before = std::mem::take(&mut self.kept);
        let mut outcome = Ok(());
        for incident in found {
            let logs = KeptLogs {
                id: incident.id,
                corosync: incident.corosync,
                pacemaker: incident.pacemaker,
                links_alone: incident.links_alone,
                ..KeptLogs::default()
            };
            let asked = match before.get(&logs.id) == Some(&logs) {
                true => Ok(()),
                false => host.ask(&KeepLogs {
                    logs: logs.clone(),
                    pools: self.pools.clone(),
                }),
            };
            // One that is too large keeps no other from being kept.
            match asked {
                Ok(()) => drop(self.kept.insert(logs.id.clone(), logs)),
                Err(e) => outcome = outcome.and(Err(e)),
            }
        }
        outcome
    }
}
