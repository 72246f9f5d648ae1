//! Watching this host's Corosync while traffic runs.

use std::time::{Duration, Instant};

use hawser_host::{Progress, Stop};
use hawser_kernel::{corosync_facts, corosync_stats};
use hawser_model::host::CorosyncFacts;

use super::corosync_trouble::trouble;

/// How often it is asked. One question is a run of `corosync-cmapctl`: 8 ms, 4 ms of them CPU
/// time (measured with corosync 3.1.7), so this takes 1.6 % of one CPU and sees trouble within
/// a twelfth of the default token timeout.
const EVERY: Duration = Duration::from_millis(250);

/// A Corosync as it stood before the traffic.
#[derive(Debug)]
pub(crate) struct ClusterWatch {
    before: CorosyncFacts,
}

/// How a watch ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Watched {
    /// A statistic moved.
    Trouble(String),
    /// Nothing did, until the request was over, or stopped, or time was up.
    Quiet(Progress),
}

impl ClusterWatch {
    /// Looks at the Corosync of this host, if one runs.
    ///
    /// # Errors
    /// It runs and does not tell its statistics: then nobody can say whether traffic harms it.
    pub(crate) fn start() -> Result<Option<Self>, String> {
        let Some(before) = corosync_facts() else {
            return Ok(None);
        };
        if before.stats.is_empty() {
            return Err(format!(
                "corosync runs (pid {}) but `corosync-cmapctl -m stats` does not tell how it \
                 fares, so it cannot be spared",
                before.pid
            ));
        }
        Ok(Some(Self { before }))
    }

    /// Asks until something happens, at most so long.
    pub(crate) fn watch(&self, stop: &Stop, at_most: Duration) -> Watched {
        let deadline = Instant::now() + at_most;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let progress = stop.wait(left.min(EVERY));
            if progress != Progress::Running || left.is_zero() {
                return Watched::Quiet(progress);
            }
            let moved = match corosync_stats() {
                Ok(stats) => trouble(
                    &self.before,
                    &CorosyncFacts {
                        stats,
                        ..CorosyncFacts::default()
                    },
                ),
                Err(error) => Some(error.to_string()),
            };
            if let Some(moved) = moved {
                return Watched::Trouble(moved);
            }
        }
    }
}
