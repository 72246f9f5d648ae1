//! What this pool has in tgtd: what its copy says, as far as tgtd confirms it by number. Of a copy that has no
//! numbers, or where there is none, only what can be proven is believed.

use std::collections::BTreeMap;

use super::current::{CurrentTarget, Targets};
use super::daemon::{Daemon, DaemonError};
use super::instance::Instance;
use super::plan::{numbers, whole};
use crate::exports::desired::Desired;
use crate::exports::host::{open_by, storage_ids_at};
use crate::exports::service::ServiceError;
use crate::exports::service::job::{Job, Purpose};

/// What the pool's copy says of this tgtd; without a copy, what the pool says now.
pub fn known(job: &Job<'_>, daemon: &Daemon, tgtd: Instance) -> Result<Targets, ServiceError> {
    match job.saved.map(|saved| (saved, &saved.made)) {
        Some((_, Some(made))) if made.instance == tgtd => Ok(made.targets.clone()),
        // Another tgtd had them, and is gone with them.
        Some((_, Some(_))) => Ok(Targets::new()),
        Some((saved, None)) => {
            let made = [&saved.desired].into_iter().chain(&saved.before);
            proven(job, daemon, tgtd, made, !saved.before.is_empty())
        }
        None => proven(job, daemon, tgtd, job.stated.into_iter(), true),
    }
}

/// What tgtd has of these, and, if `sessions`, who is logged in.
pub fn confirmed(
    daemon: &Daemon,
    targets: Targets,
    sessions: bool,
) -> Result<Targets, DaemonError> {
    let mut there = Targets::new();
    for (iqn, mut target) in targets {
        let tid = target.tid;
        if !daemon.has_target(tid)? {
            continue;
        }
        let mut units = BTreeMap::new();
        for (lun, unit) in target.units {
            if daemon.has_unit(tid, lun)? {
                units.insert(lun, unit);
            }
        }
        target.units = units;
        if sessions {
            target.sessions = daemon.sessions(tid)?;
        }
        there.insert(iqn, target);
    }
    Ok(there)
}

/// The targets of which the number that their name gives is there, with exactly their units, and all of whose
/// volumes this tgtd has open. One that has a volume open and no such target is not guessed at.
fn proven<'a>(
    job: &Job<'_>,
    daemon: &Daemon,
    tgtd: Instance,
    made: impl Iterator<Item = &'a Desired>,
    unsure: bool,
) -> Result<Targets, ServiceError> {
    let mut targets = Targets::new();
    let mut suspect = None;
    for desired in made {
        for iqn in desired.targets.keys().filter(|iqn| !iqn.is_empty()) {
            if targets.contains_key(iqn) {
                continue;
            }
            let tid = numbers(iqn).next().unwrap_or(1);
            let Some(mut target) = whole(tid, iqn, desired) else {
                continue;
            };
            let places = storage_ids_at(target.units.values().map(|unit| unit.path.as_str()));
            let open = open_by(tgtd.pid, &places);
            let all = !target.units.is_empty() && places.keys().all(|place| open.contains(place));
            match all && fits(daemon, &target)? {
                true => {
                    target.set_unsure(unsure);
                    targets.insert(iqn.clone(), target);
                }
                false if open.is_empty() => {}
                false => {
                    let path = open.first().and_then(|place| places.get(place));
                    suspect = path.map(|path| (iqn.clone(), path.clone()));
                }
            }
        }
    }
    let pid = tgtd.pid;
    match suspect.filter(|(iqn, _)| !targets.contains_key(iqn)) {
        // Who has what open is looked for after every stop.
        Some((iqn, path)) if job.purpose != Purpose::Stopped => {
            Err(ServiceError::Unproven { iqn, path, pid })
        }
        _ => Ok(targets),
    }
}

/// Whether the number is there with these units and not the next one.
fn fits(daemon: &Daemon, target: &CurrentTarget) -> Result<bool, DaemonError> {
    let tid = target.tid;
    for lun in target.units.keys() {
        if !daemon.has_unit(tid, *lun)? {
            return Ok(false);
        }
    }
    let last = target.units.keys().next_back().copied().unwrap_or(0);
    Ok(!daemon.has_unit(tid, last.saturating_add(1))?)
}
