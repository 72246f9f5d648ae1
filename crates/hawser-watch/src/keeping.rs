//! Readings on their way into the head's ring: what fails there is said once, and the watch goes on.

use std::time::Duration;

use hawser_agent::questions::{KeepReading, OpenReadings};
use hawser_host::Host;
use hawser_model::drill::Moment;
use hawser_model::kept_alarms::KeptAlarms;

use crate::resumed::AlarmsKept;
use crate::shown::Shown;
use crate::tape::{Tape, noted};

/// A ring that could not be opened is tried again after this.
const AGAIN: Duration = Duration::from_secs(60);

/// Bytes that a ring has unless somebody says another number.
pub const LIMIT: u64 = 64 << 20;

/// What became of readings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeptCounts {
    /// On the disk.
    pub kept: u64,
    /// Lost: the disk did not take them.
    pub lost: u64,
    /// How often the clock was stepped.
    pub steps: u64,
}

/// Who keeps the readings of a watch.
#[derive(Debug)]
pub struct Keeping {
    limit: u64,
    pools: Vec<String>,
    open: bool,
    tried: Option<Duration>,
    /// Why it could not be opened just now.
    refused: Option<String>,
    /// All that is known has to be told once.
    begins: bool,
    alarms: AlarmsKept,
    tape: Tape,
    counts: KeptCounts,
    /// Why the last one was not kept, and how many were not since the last that was.
    problem: Option<(String, u64)>,
    said: Vec<String>,
}

impl Keeping {
    /// In a ring of so many bytes, which is below none of these folders of pools.
    pub fn new(limit: u64, pools: Vec<String>) -> Self {
        Self {
            limit,
            pools,
            open: false,
            tried: None,
            refused: None,
            begins: true,
            alarms: AlarmsKept::default(),
            tape: Tape::default(),
            counts: KeptCounts::default(),
            problem: None,
            said: Vec::new(),
        }
    }

    /// Keeps what is new of what is shown.
    pub fn keep(&mut self, host: &mut dyn Host, now: Duration, time_of_day: Moment, shown: &Shown) {
        let reading = self.tape.take(now, time_of_day, noted(shown));
        if let Some(us) = reading.stepped_us {
            self.counts.steps += 1;
            let by = us as f64 / 1e6;
            self.said.push(format!(
                "the clock was stepped by {by:+.3} s: times before and after that differ by so much"
            ));
        }
        if !self.open {
            let refused = self.refused.take();
            self.lost(refused);
            return;
        }
        let reading = match std::mem::take(&mut self.begins) {
            true => self.tape.whole(&reading),
            false => reading,
        };
        match host.ask(&KeepReading { reading }) {
            Ok(()) => {
                self.counts.kept += 1;
                if let Some((_, lost)) = self.problem.take() {
                    self.said
                        .push(format!("readings are kept again; {lost} were not"));
                }
            }
            Err(e) => self.lost(Some(e.to_string())),
        }
    }

    /// Opens the ring unless it is, or it is not yet time to try that again: what the watch before this one kept.
    pub fn open(&mut self, host: &mut dyn Host, now: Duration) -> Option<KeptAlarms> {
        let waits = |tried| now.saturating_sub(tried) < AGAIN;
        if self.open || self.tried.is_some_and(waits) {
            return None;
        }
        self.tried = Some(now);
        let asked = OpenReadings {
            limit: self.limit,
            pools: self.pools.clone(),
        };
        match host.ask(&asked) {
            Ok(found) => {
                self.open = true;
                Some(self.alarms.found(found))
            }
            Err(e) => {
                self.refused = Some(e.to_string());
                None
            }
        }
    }

    /// Keeps the alarms for the next watch, if the ring is open: without it, another may have them.
    pub fn alarms(&mut self, host: &mut dyn Host, now: Duration, alarms: KeptAlarms) {
        if self.open {
            self.alarms.keep(host, now, alarms);
        }
    }

    fn lost(&mut self, why: Option<String>) {
        self.counts.lost += 1;
        let (known, lost) = self.problem.take().unwrap_or_default();
        let why = why.unwrap_or_else(|| known.clone());
        if why != known {
            self.said.push(format!("readings are not kept: {why}"));
        }
        self.problem = Some((why, lost + 1));
    }

    /// What is to be said since it was asked last, a line each.
    pub fn said(&mut self) -> Vec<String> {
        let mut all = std::mem::take(&mut self.said);
        all.extend(self.alarms.said());
        all
    }

    /// What became of readings so far.
    pub fn counts(&self) -> KeptCounts {
        self.counts
    }
}
