//! What this pool has in tgtd: what its copy says, as far as tgtd confirms it by number. Of a copy that has no
//! numbers, or where there is none, only what can be proven is believed.

use std::collections::BTreeMap;

use super::ServiceError;
use crate::exports::desired::Desired;
use crate::exports::host::{Saved, open_by, places_at};
use crate::exports::tgt::{CurrentTarget, Daemon, DaemonError, Instance, Targets, numbers, whole};

/// What is there. `stated`: what the pool says now, for when no copy does. Without `sessions`, clients are not
/// looked at: however many there are, a monitor takes no longer.
pub fn known(
    daemon: &Daemon,
    instance: Instance,
    saved: Option<&Saved>,
    stated: Option<&Desired>,
    sessions: bool,
) -> Result<Targets, ServiceError> {
    let targets = match saved.map(|saved| (saved, &saved.made)) {
        Some((_, Some(made))) if made.instance == instance => made.targets.clone(),
        // Another tgtd had them, and is gone with them.
        Some((_, Some(_))) => Targets::new(),
        Some((saved, None)) => {
            let made = [&saved.desired].into_iter().chain(&saved.before);
            proven(daemon, instance, made, !saved.before.is_empty())?
        }
        None => proven(daemon, instance, stated.into_iter(), true)?,
    };
    confirmed(daemon, targets, sessions)
}

/// What tgtd has of these, and who is logged in.
pub fn confirmed(
    daemon: &Daemon,
    targets: Targets,
    sessions: bool,
) -> Result<Targets, ServiceError> {
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
    daemon: &Daemon,
    instance: Instance,
    made: impl Iterator<Item = &'a Desired>,
    unsure: bool,
) -> Result<Targets, ServiceError> {
    let made: Vec<&Desired> = made.collect();
    let mut targets = Targets::new();
    let mut suspect = None;
    for desired in &made {
        for iqn in desired.targets.keys().filter(|iqn| !iqn.is_empty()) {
            if targets.contains_key(iqn) {
                continue;
            }
            let tid = numbers(iqn).next().unwrap_or(1);
            let Some(mut target) = whole(tid, iqn, desired) else {
                continue;
            };
            let places = places_at(target.units.values().map(|unit| unit.path.as_str()));
            let open = open_by(instance.pid, &places);
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
    match suspect.filter(|(iqn, _)| !targets.contains_key(iqn)) {
        Some((iqn, path)) => Err(ServiceError::Unproven {
            iqn,
            path,
            pid: instance.pid,
        }),
        None => Ok(targets),
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
