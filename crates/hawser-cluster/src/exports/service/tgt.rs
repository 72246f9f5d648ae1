//! The service with tgtd.

use std::collections::{BTreeMap, BTreeSet};

use super::{Health, ServiceError, Targets, Wanted, begin, judged, wanted};
use crate::exports::desired::{Desired, Portal};
use crate::exports::host::{Mark, Parameters, Saved, read_secret};
use crate::exports::tgt::{self, Account, Daemon, DaemonError, Found, Operation, Ours};

/// Makes tgtd offer what is wanted.
pub(super) fn start(
    parameters: &Parameters,
    wanted: &Wanted,
    saved: Option<Saved>,
    others: &[Saved],
    said: &mut dyn FnMut(&str),
) -> Result<Saved, ServiceError> {
    let desired = &wanted.desired;
    let secrets = secrets(desired)?;
    let daemon = Daemon::default();
    let ours = ours(saved.as_ref(), parameters, &daemon)?;
    let found = look(&daemon, others)?;
    let marks = marks(&secrets, saved.as_ref())?;
    let found = judge_accounts(found, &secrets, saved.as_ref(), others)?;

    let operations = tgt::start(desired, &found, &ours);
    let portals = new_portals(&operations);
    let kept = ours.portals.union(&portals).copied().collect();
    let mut copy = begin(parameters, wanted, saved, marks, kept)?;
    perform(&daemon, &operations, &found, &secrets, said)?;

    let found = judge_accounts(look(&daemon, others)?, &secrets, Some(&copy), others)?;
    let left = tgt::start(desired, &found, &Ours::of(desired));
    if !left.is_empty() {
        return Err(ServiceError::NotTaken(words(&left, &found)));
    }
    copy.portals.retain(|portal| found.portals.contains(portal));
    Ok(copy)
}

/// Takes everything of the pool away from tgtd.
pub(super) fn stop(
    saved: Option<&Saved>,
    parameters: &Parameters,
    said: &mut dyn FnMut(&str),
) -> Result<(), ServiceError> {
    let daemon = Daemon::default();
    // A target that does not run offers nothing, and will not when it is started again.
    if !daemon.runs()? {
        return Ok(());
    }
    let others = Saved::others(&parameters.pool)?;
    let mut ours = ours(saved, parameters, &daemon)?;
    if saved.is_none() {
        // Without a copy, what the pool says now is the next best: a target may have a name of
        // its own there.
        if let Ok(wanted) = wanted(parameters) {
            ours.targets.extend(wanted.desired.targets.into_keys());
        }
    }
    let found = look(&daemon, &others)?;
    let operations = tgt::stop(&found, &ours);
    perform(&daemon, &operations, &found, &BTreeMap::new(), said)?;
    let found = look(&daemon, &others)?;
    let left = tgt::stop(&found, &ours);
    match left.is_empty() {
        true => Ok(()),
        false => Err(ServiceError::NotTaken(words(&left, &found))),
    }
}

/// Compares tgtd with what the pool is to offer.
pub(super) fn compare(
    parameters: &Parameters,
    desired: &Desired,
    saved: Option<&Saved>,
) -> Result<Targets, ServiceError> {
    let others = Saved::others(&parameters.pool)?;
    let secrets = secrets(desired)?;
    let daemon = Daemon::default();
    let ours = ours(saved, parameters, &daemon)?;
    let found = judge_accounts(look(&daemon, &others)?, &secrets, saved, &others)?;
    let pending = words(&tgt::start(desired, &found, &ours), &found);
    let there = found.targets.into_iter();
    let sessions = there
        .map(|(iqn, target)| {
            let names = target.sessions.into_iter().map(|s| s.initiator);
            (iqn, names.collect())
        })
        .collect();
    Ok((sessions, pending))
}

/// Whether what was started is still there.
pub(super) fn health(
    parameters: &Parameters,
    saved: Option<&Saved>,
) -> Result<Health, ServiceError> {
    let daemon = Daemon::default();
    if !daemon.runs()? {
        return Ok(Health::Stopped);
    }
    let others = Saved::others(&parameters.pool)?;
    let found = look(&daemon, &others)?;
    let ours = ours(saved, parameters, &daemon)?;
    if !ours
        .targets
        .iter()
        .any(|iqn| found.targets.contains_key(iqn))
    {
        return Ok(Health::Stopped);
    }
    let missing = saved.map_or(Vec::new(), |saved| {
        words(&tgt::start(&saved.desired, &found, &ours), &found)
    });
    Ok(judged(saved, ours.targets.into_iter().collect(), missing))
}

/// What tgtd has; accounts as if their secrets were right.
fn look(daemon: &Daemon, others: &[Saved]) -> Result<Found, ServiceError> {
    let accounts = daemon.accounts()?;
    Ok(Found {
        targets: daemon.targets()?,
        portals: daemon.portals()?,
        accounts: accounts
            .into_iter()
            .map(|user| (user, Account::Same))
            .collect(),
        others_portals: others
            .iter()
            .flat_map(|other| other.portals.iter().copied())
            .collect(),
    })
}

/// What this pool has made: by its copy. Without one, by the names that its targets have when the
/// file gives them no others.
fn ours(
    saved: Option<&Saved>,
    parameters: &Parameters,
    daemon: &Daemon,
) -> Result<Ours, ServiceError> {
    let Some(saved) = saved else {
        let context = parameters.context();
        let there = daemon.targets()?.into_keys();
        return Ok(Ours {
            targets: there.filter(|iqn| context.names(iqn)).collect(),
            ..Ours::default()
        });
    };
    let mut ours = Ours::of(&saved.desired);
    ours.portals.clone_from(&saved.portals);
    for before in &saved.before {
        let before = Ours::of(before);
        ours.targets.extend(before.targets);
        ours.accounts.extend(before.accounts);
        // What was there before may still be: only what both agree on is known to be in place.
        ours.volumes
            .retain(|serial, volume| before.volumes.get(serial).is_none_or(|v| v == volume));
    }
    Ok(ours)
}

fn secrets(desired: &Desired) -> Result<BTreeMap<String, String>, ServiceError> {
    let accounts = desired.accounts().into_iter();
    accounts
        .map(|(user, secret)| Ok((user, read_secret(&secret)?)))
        .collect()
}

fn marks(
    secrets: &BTreeMap<String, String>,
    saved: Option<&Saved>,
) -> Result<BTreeMap<String, Mark>, ServiceError> {
    let one = |(user, secret): (&String, &String)| {
        let known = saved.and_then(|saved| saved.marks.get(user));
        let mark = match known.filter(|mark| mark.is_of(secret)) {
            Some(mark) => mark.clone(),
            None => Mark::of(secret).map_err(|source| ServiceError::Io {
                call: "read",
                path: "/dev/urandom".into(),
                source,
            })?,
        };
        Ok((user.clone(), mark))
    };
    secrets.iter().map(one).collect()
}

/// Whether each account that is wanted is there with the right secret.
fn judge_accounts(
    mut found: Found,
    secrets: &BTreeMap<String, String>,
    saved: Option<&Saved>,
    others: &[Saved],
) -> Result<Found, ServiceError> {
    for (user, secret) in secrets {
        let Some(account) = found.accounts.get_mut(user) else {
            continue;
        };
        let foreign = |whose: String| ServiceError::ForeignAccount {
            user: user.clone(),
            whose,
        };
        let other = others
            .iter()
            .find_map(|other| Some((other, other.marks.get(user)?)));
        let own = saved.and_then(|saved| saved.marks.get(user));
        match (other, own) {
            (Some((_, mark)), _) if mark.is_of(secret) => {}
            (Some((other, _)), _) => {
                let whose = format!("with another secret, for pool {}", other.parameters.pool);
                return Err(foreign(whose));
            }
            (None, Some(mark)) if mark.is_of(secret) => {}
            (None, Some(_)) => *account = Account::Older,
            (None, None) => return Err(foreign("and not made by hawser".into())),
        }
    }
    Ok(found)
}

fn new_portals(operations: &[Operation]) -> BTreeSet<Portal> {
    let new = operations.iter().filter_map(|operation| match operation {
        Operation::NewPortal { portal } => Some(*portal),
        _ => None,
    });
    new.collect()
}

fn words(operations: &[Operation], found: &Found) -> Vec<String> {
    let names = tgt::names(found, operations);
    operations
        .iter()
        .map(|operation| operation.words(&names))
        .collect()
}

fn perform(
    daemon: &Daemon,
    operations: &[Operation],
    found: &Found,
    secrets: &BTreeMap<String, String>,
    said: &mut dyn FnMut(&str),
) -> Result<(), ServiceError> {
    let none = String::new();
    for (operation, what) in operations.iter().zip(words(operations, found)) {
        let secret = match operation {
            Operation::NewAccount { user, .. } => secrets.get(user).unwrap_or(&none),
            _ => &none,
        };
        match (daemon.perform(operation, secret, &what), operation) {
            // A session that ended by itself meanwhile.
            (Err(DaemonError::Refused { .. }), Operation::Disconnect { .. }) => {}
            (outcome, _) => outcome?,
        }
        said(&what);
    }
    Ok(())
}
