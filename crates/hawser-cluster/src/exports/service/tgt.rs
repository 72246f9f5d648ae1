//! The service with tgtd.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use hawser_tool::Deadline;

use super::accounts::{judge_accounts, marks, secrets};
use super::change::begin;
use super::health::{PATIENCE, UNFINISHED};
use super::here::Here;
use super::known::{confirmed, known};
use super::owned::{Thing, Whose, only_ours};
use super::{Health, ServiceError, Targets, Wanted};
use crate::exports::desired::{Desired, Portal};
use crate::exports::host::{Made, Parameters, Place, Places, Saved, open_by};
use crate::exports::tgt::{
    self, Account, Daemon, DaemonError, Found, Instance, Operation, Ours, after, during, numbers,
};

/// How long a stop waits for the first answer. A monitor has waited for one in vain before.
const FIRST_ANSWER: Duration = Duration::from_secs(2);

/// Makes tgtd offer what is wanted.
pub(super) fn start(
    here: &Here,
    parameters: &Parameters,
    wanted: &Wanted,
    saved: Option<Saved>,
    others: &[Saved],
    said: &mut dyn FnMut(&str),
) -> Result<Saved, ServiceError> {
    let desired = &wanted.desired;
    let secrets = secrets(desired)?;
    let daemon = &here.daemon;
    let instance = running(daemon)?;
    let there = known(daemon, instance, saved.as_ref(), Some(desired), true)?;
    renumbered(desired, &there)?;
    let marks = marks(&secrets, saved.as_ref())?;
    let found = look(daemon, there.clone(), desired, others)?;
    let found = judge_accounts(found, &secrets, instance, saved.as_ref(), true, others)?;

    let ours = ours(saved.as_ref());
    let operations = tgt::start(desired, &found, &ours);
    let mut kept = new_portals(&operations);
    kept.extend(&ours.portals);
    // What another pool has opened, and this one needs too, belongs to both: the last one closes it.
    let made = others.iter().flat_map(|other| &other.portals);
    let needed = tgt::needed(desired);
    kept.extend(made.filter(|portal| needed.contains(portal)));
    let targets = during(&there, &operations, desired);
    let made = Some(Made { instance, targets });
    let mut copy = begin(here, parameters, wanted, saved, marks, kept, made)?;
    match perform(daemon, &operations, &found, &secrets, said) {
        Err(Failed {
            new_target: Some(iqn),
            error: DaemonError::Foreign { .. },
        }) => {
            // The name is somebody else's, and no number of it ours.
            if let Some(made) = &mut copy.made {
                made.targets.remove(&iqn);
            }
            copy.write(&here.folder)?;
            let target = Thing::Target { iqn, of: "tgtd" };
            only_ours([target], |_| Some(Whose::Unknown))?;
        }
        Err(failed) => return Err(failed.error.into()),
        Ok(()) => {}
    }

    let targets = after(&there, &operations, desired);
    let found = look(
        daemon,
        confirmed(daemon, targets.clone(), true)?,
        desired,
        others,
    )?;
    let found = judge_accounts(found, &secrets, instance, Some(&copy), false, others)?;
    let left = tgt::start(desired, &found, &Ours::of(desired));
    if !left.is_empty() {
        return Err(ServiceError::NotTaken(words(&left, &found)));
    }
    copy.portals.retain(|portal| found.portals.contains(portal));
    copy.made = Some(Made { instance, targets });
    Ok(copy)
}

/// Takes everything of the pool away from tgtd, if need be by ending a tgtd that hangs. What is left open is
/// looked for afterwards, whatever this comes to; why nothing could be taken away is returned.
pub(super) fn stop(
    here: &Here,
    saved: Option<&Saved>,
    stated: Option<&Desired>,
    parameters: &Parameters,
    said: &mut dyn FnMut(&str),
) -> Result<Option<String>, ServiceError> {
    match taken_away(here, saved, stated, parameters, said) {
        Err(ServiceError::Daemon(error @ DaemonError::Silent { .. })) => match hung(here, saved) {
            None => Ok(Some(error.to_string())),
            Some((pid, Ok(()))) => {
                said(&format!("tgtd (process {pid}) is ended: {error}"));
                Ok(None)
            }
            Some((pid, Err(why))) => Ok(Some(format!("{error}; end process {pid}: {why}"))),
        },
        Err(ServiceError::Daemon(
            error @ (DaemonError::NotRunning(_) | DaemonError::Io { .. }),
        )) => Ok(Some(error.to_string())),
        outcome => outcome.map(|()| None),
    }
}

/// Ends the tgtd in which the pool was started, if it still has a volume of the pool open; its number, and
/// what came of it.
///
/// A tgtd that does not answer serves nobody, and its pools can go nowhere else while it may write to them: the
/// other way is to shoot the head. What it has acknowledged is in the kernel's cache, which outlives it.
fn hung(here: &Here, saved: Option<&Saved>) -> Option<(i32, std::io::Result<()>)> {
    let saved = saved?;
    let instance = saved.made.as_ref()?.instance;
    let volumes = saved.volumes.iter();
    let places: Places = volumes
        .map(|(path, place)| (*place, path.clone()))
        .collect();
    let holds = instance.runs() && !open_by(instance.pid, &places).is_empty();
    holds.then(|| (instance.pid, (here.end)(instance)))
}

fn taken_away(
    here: &Here,
    saved: Option<&Saved>,
    stated: Option<&Desired>,
    parameters: &Parameters,
    said: &mut dyn FnMut(&str),
) -> Result<(), ServiceError> {
    let daemon = &here.daemon;
    let first = daemon.until(Deadline::after(FIRST_ANSWER));
    let Some(instance) = first.instance()? else {
        return Ok(());
    };
    let others = Saved::others(&here.folder, &parameters.pool)?;
    let there = known(
        daemon,
        instance,
        saved,
        stated.filter(|_| saved.is_none()),
        true,
    )?;
    let nothing = Desired::default();
    let found = look(daemon, there, &nothing, &others)?;
    // What another tgtd was told is not in this one.
    let made = saved.and_then(|saved| saved.made.as_ref());
    let ours = match made.is_none_or(|made| made.instance == instance) {
        true => ours(saved),
        false => Ours::default(),
    };
    let operations = tgt::stop(&found, &ours);
    let none = BTreeMap::new();
    perform(daemon, &operations, &found, &none, said).map_err(|failed| failed.error)?;
    let left = confirmed(daemon, found.targets.clone(), false)?;
    let left = tgt::stop(&look(daemon, left, &nothing, &others)?, &ours);
    match left.is_empty() {
        true => Ok(()),
        false => Err(ServiceError::NotTaken(words(&left, &found))),
    }
}

/// Compares tgtd with what the pool is to offer.
pub(super) fn compare(
    here: &Here,
    parameters: &Parameters,
    desired: &Desired,
    saved: Option<&Saved>,
) -> Result<Targets, ServiceError> {
    let others = Saved::others(&here.folder, &parameters.pool)?;
    let secrets = secrets(desired)?;
    let daemon = &here.daemon;
    let instance = running(daemon)?;
    let there = known(daemon, instance, saved, Some(desired), true)?;
    let found = look(daemon, there, desired, &others)?;
    let found = judge_accounts(found, &secrets, instance, saved, true, &others)?;
    let mut pending = words(&tgt::start(desired, &found, &ours(saved)), &found);
    pending.extend(not_open(saved, &found.targets, instance));
    let mut sessions = BTreeMap::new();
    for (iqn, target) in found.targets {
        sessions.insert(iqn, daemon.initiators(target.tid)?);
    }
    Ok((sessions, pending))
}

/// Whether what was started is still there, and answers a client.
pub(super) fn health(
    here: &Here,
    parameters: &Parameters,
    saved: Option<&Saved>,
) -> Result<Health, ServiceError> {
    // Whether tgtd answers is of interest to whom it serves.
    let Some(copy) = saved else {
        return Ok(Health::Stopped);
    };
    let until = Deadline::after(PATIENCE);
    let daemon = &here.daemon.until(until);
    let Some(instance) = daemon.instance()? else {
        return Ok(Health::Stopped);
    };
    let there = known(daemon, instance, saved, None, false)?;
    if there.is_empty() {
        return Ok(Health::Stopped);
    }
    let others = Saved::others(&here.folder, &parameters.pool)?;
    let desired = &copy.desired;
    let found = look(daemon, there, desired, &others)?;
    let mut missing = words(&tgt::start(desired, &found, &ours(saved)), &found);
    if !copy.before.is_empty() {
        missing.insert(0, UNFINISHED.into());
    }
    if missing.is_empty() {
        missing.extend(not_open(saved, &found.targets, instance));
        missing.extend(deaf(here, desired, &found, until));
    }
    Ok(match missing.is_empty() {
        true => Health::Running,
        false => Health::Broken(missing),
    })
}

/// Volumes that this tgtd does not have open, although a unit of its is there: somebody put another in its place.
fn not_open(saved: Option<&Saved>, there: &tgt::Targets, instance: Instance) -> Vec<String> {
    let Some(saved) = saved else {
        return Vec::new();
    };
    let units = there.values().flat_map(|target| target.units.values());
    let place = |path: &String| Some((*saved.volumes.get(path)?, path.clone()));
    let places: Places = units.filter_map(|unit| place(&unit.path)).collect();
    let open: BTreeSet<Place> = open_by(instance.pid, &places);
    let closed = places.iter().filter(|(place, _)| !open.contains(place));
    closed
        .map(|(_, path)| format!("tgtd does not have {path} open"))
        .collect()
}

/// A portal of the pool at which no client is answered.
fn deaf(here: &Here, desired: &Desired, found: &Found, until: Deadline) -> Option<String> {
    let mut wanted = tgt::needed(desired);
    wanted.extend(desired.targets.values().flat_map(|t| &t.portals));
    let portal = found.portals.iter().find(|it| wanted.contains(it))?;
    let error = (here.login)(*portal, until).err()?;
    Some(format!("no client can log in at {portal}: {error}"))
}

fn running(daemon: &Daemon) -> Result<Instance, DaemonError> {
    let none = || DaemonError::NotRunning(tgt::SOCKET.into());
    daemon.instance()?.ok_or_else(none)
}

/// What tgtd has; accounts as if their secrets were right.
fn look(
    daemon: &Daemon,
    targets: tgt::Targets,
    desired: &Desired,
    others: &[Saved],
) -> Result<Found, ServiceError> {
    let accounts = daemon.accounts()?.into_iter();
    let mut taken = BTreeSet::new();
    for iqn in desired
        .targets
        .keys()
        .filter(|iqn| !targets.contains_key(*iqn))
    {
        for tid in numbers(iqn) {
            if !taken.contains(&tid) && !daemon.has_target(tid)? {
                break;
            }
            taken.insert(tid);
        }
    }
    // A start of another pool that was killed may have left what it had before.
    let of_others = |other: &Saved| {
        let made = other.before.iter().chain([&other.desired]);
        made.flat_map(|desired| desired.accounts().into_keys())
            .collect::<Vec<_>>()
    };
    Ok(Found {
        targets,
        taken,
        portals: daemon.portals()?,
        accounts: accounts.map(|user| (user, Account::Same)).collect(),
        others_accounts: others.iter().flat_map(of_others).collect(),
        others_portals: others
            .iter()
            .flat_map(|other| {
                other
                    .portals
                    .iter()
                    .copied()
                    .chain(tgt::needed(&other.desired))
            })
            .collect(),
    })
}

/// Accounts and portals that this pool has made: by its copy.
fn ours(saved: Option<&Saved>) -> Ours {
    let Some(saved) = saved else {
        return Ours::default();
    };
    let mut ours = Ours::of(&saved.desired);
    ours.portals.clone_from(&saved.portals);
    for before in &saved.before {
        ours.accounts.extend(Ours::of(before).accounts);
    }
    ours
}

/// That no number that clients are using comes to mean another volume: they would go on writing to it.
fn renumbered(desired: &Desired, there: &tgt::Targets) -> Result<(), ServiceError> {
    for (iqn, target) in there
        .iter()
        .filter(|(_, target)| !target.sessions.is_empty())
    {
        let luns = desired
            .targets
            .get(iqn)
            .into_iter()
            .flat_map(|target| &target.luns);
        for (lun, exposure) in luns {
            let (Some(now), Some(then)) =
                (target.units.get(lun), desired.units.get(&exposure.serial))
            else {
                continue;
            };
            let known = !now.serial.is_empty() && !now.identity.is_empty();
            if known && now.serial != exposure.serial && now.identity != then.identity {
                return Err(ServiceError::Renumbered {
                    iqn: iqn.clone(),
                    lun: *lun,
                    now: now.path.clone(),
                    then: then.path.clone(),
                });
            }
        }
    }
    Ok(())
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

/// An operation that failed.
struct Failed {
    /// The name of the target that it was to make.
    new_target: Option<String>,
    error: DaemonError,
}

fn perform(
    daemon: &Daemon,
    operations: &[Operation],
    found: &Found,
    secrets: &BTreeMap<String, String>,
    said: &mut dyn FnMut(&str),
) -> Result<(), Failed> {
    let none = String::new();
    for (operation, what) in operations.iter().zip(words(operations, found)) {
        let secret = match operation {
            Operation::NewAccount { user, .. } => secrets.get(user).unwrap_or(&none),
            _ => &none,
        };
        let done = daemon.perform(operation, secret, &what);
        done.map_err(|error| Failed {
            new_target: match operation {
                Operation::NewTarget { iqn, .. } => Some(iqn.clone()),
                _ => None,
            },
            error,
        })?;
        said(&what);
    }
    Ok(())
}
