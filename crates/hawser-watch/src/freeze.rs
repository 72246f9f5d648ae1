//! Keeping what was read around an incident with it: a ring of readings is written over, and what is old in it is thinned.

use std::collections::BTreeSet;
use std::time::Duration;

use hawser_account::incident::moment;
use hawser_agent::questions::ReadReadings;
use hawser_cluster::host::KeptLogs;
use hawser_cluster::host::questions::{KeepLogs, ListKeptLogs, ReadKeptLog};
use hawser_host::{Host, HostError};
use hawser_model::drill::Moment;
use hawser_model::output::incident::IncidentsReport;

use crate::around::window;

/// Incidents that are looked at, the newest: of one that is older the ring may have thinned what it had.
const NEWEST: usize = 20;

/// An account of the same incident may begin so much earlier or later, since other lines are known to it.
const MOVES: Duration = Duration::from_secs(5);

/// Incidents with whose lines the readings are kept.
#[derive(Debug, Default)]
pub struct Freezer {
    /// Folders of pools.
    pools: Vec<String>,
    done: BTreeSet<String>,
}

impl Freezer {
    /// Keeps what it keeps below none of these folders of pools.
    pub fn new(pools: Vec<String>) -> Self {
        Self {
            pools,
            ..Self::default()
        }
    }

    /// Keeps what this head's ring has around each incident that is over, unless it is kept.
    ///
    /// # Errors
    /// The head does not answer, or its disk does not take it.
    pub fn freeze(
        &mut self,
        host: &mut dyn Host,
        report: &IncidentsReport,
    ) -> Result<(), HostError> {
        if report.incidents.is_empty() {
            return Ok(());
        }
        let kept = host.ask(&ListKeptLogs)?.into_iter().take(NEWEST);
        for name in kept
            .filter(|name| !self.done.contains(&name.id))
            .collect::<Vec<_>>()
        {
            let Some((from, to)) = around(report, &name.id) else {
                continue;
            };
            let id = name.id.clone();
            let Some(logs) = host.ask(&ReadKeptLog { id })? else {
                continue;
            };
            if logs.readings.is_none() {
                let readings = host.ask(&ReadReadings { from, to })?;
                match readings.newest {
                    // No watch keeps readings here.
                    None => {}
                    // What comes after it is not read yet.
                    Some(newest) if newest < to => continue,
                    Some(_) => {
                        // Without lines: more of them may have been kept meanwhile.
                        let logs = KeptLogs {
                            id: name.id.clone(),
                            readings: Some(readings),
                            ..KeptLogs::default()
                        };
                        let pools = self.pools.clone();
                        host.ask(&KeepLogs { logs, pools })?;
                    }
                }
            }
            self.done.insert(name.id);
        }
        Ok(())
    }
}

/// From when to when an incident of this name is looked at: from a minute before it to two after.
fn around(report: &IncidentsReport, id: &str) -> Option<(Moment, Moment)> {
    let named = named(id)?;
    let incidents = report.incidents.iter();
    let times = incidents.filter_map(|it| Some((moment(&it.began)?, it.lasted_s)));
    let apart = |at: Moment| at.since(named).abs();
    let near = times.filter(|(at, _)| apart(*at) <= MOVES.as_secs_f64());
    let (began, lasted_s) = near.min_by(|(a, _), (b, _)| apart(*a).total_cmp(&apart(*b)))?;
    Some(window(began, lasted_s))
}

/// When an incident of this name began: `20261122-111412`.
fn named(id: &str) -> Option<Moment> {
    let part = |from: usize, to: usize| id.get(from..to);
    moment(&format!(
        "{}-{}-{} {}:{}:{}",
        part(0, 4)?,
        part(4, 6)?,
        part(6, 8)?,
        part(9, 11)?,
        part(11, 13)?,
        part(13, 15)?
    ))
}
