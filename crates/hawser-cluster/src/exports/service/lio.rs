//! The service with the kernel's own target.

use std::collections::{BTreeMap, BTreeSet};

use hawser_model::cluster_file::SecretRef;
use sha2::{Digest as _, Sha256};

use super::change::begin;
use super::health::UNFINISHED;
use super::here::Here;
use super::owned::{Thing, Whose, only_ours};
use super::{Health, ServiceError, Targets, Wanted};
use crate::exports::desired::Desired;
use crate::exports::host::{Parameters, Saved, read_secret};
use crate::exports::lio::{
    Configfs, Digest, Operation, Tree, backstore, nodes, notable, plan, ready,
};
use crate::exports::tgt::visible;

/// Makes the kernel offer what is wanted.
pub(super) fn start(
    here: &Here,
    parameters: &Parameters,
    wanted: &Wanted,
    saved: Option<Saved>,
    said: &mut dyn FnMut(&str),
) -> Result<Saved, ServiceError> {
    let desired = &wanted.desired;
    let secrets = secrets(desired)?;
    let configfs = &here.configfs;
    let ours = ours(configfs, parameters, saved.as_ref())?;
    foreign(configfs, desired, &ours)?;
    let found = configfs.look(&parameters.pool, &ours)?;
    renumbered(configfs, desired, saved.as_ref())?;
    let pool = &parameters.pool;
    let nodes = nodes(pool, desired, &digests(&secrets));
    let stale = stale(pool, desired, saved.as_ref());
    let operations = plan(&nodes, &found, &stale);
    let names = names(desired, saved.as_ref());
    let (marks, portals) = (BTreeMap::new(), BTreeSet::new());
    let copy = begin(here, parameters, wanted, saved, marks, portals, None)?;
    perform(configfs, &operations, &secrets, &names, said)?;

    let found = look(configfs, parameters, Some(&copy))?;
    let left = plan(&nodes, &found, &BTreeSet::new());
    if !left.is_empty() {
        return Err(ServiceError::NotTaken(words(&left, &names)));
    }
    Ok(copy)
}

/// Takes everything of the pool away from the kernel.
pub(super) fn stop(
    here: &Here,
    saved: Option<&Saved>,
    parameters: &Parameters,
    said: &mut dyn FnMut(&str),
) -> Result<(), ServiceError> {
    let configfs = &here.configfs;
    let names = names(&Desired::default(), saved);
    let found = look(configfs, parameters, saved)?;
    let operations = plan(&[], &found, &BTreeSet::new());
    perform(configfs, &operations, &BTreeMap::new(), &names, said)?;
    let found = look(configfs, parameters, saved)?;
    match found.is_empty() {
        true => Ok(()),
        false => Err(ServiceError::NotTaken(found.into_keys().collect())),
    }
}

/// Compares the kernel with what the pool is to offer.
pub(super) fn compare(
    here: &Here,
    parameters: &Parameters,
    desired: &Desired,
    saved: Option<&Saved>,
) -> Result<Targets, ServiceError> {
    let secrets = secrets(desired)?;
    ready()?;
    let configfs = &here.configfs;
    let ours = ours(configfs, parameters, saved)?;
    foreign(configfs, desired, &ours)?;
    let found = configfs.look(&parameters.pool, &ours)?;
    let nodes = nodes(&parameters.pool, desired, &digests(&secrets));
    let operations = plan(&nodes, &found, &stale(&parameters.pool, desired, saved));
    let mut sessions = BTreeMap::new();
    for iqn in targets(&found) {
        let there = configfs.sessions(&iqn)?;
        sessions.insert(iqn, there.iter().map(|name| visible(name)).collect());
    }
    Ok((sessions, words(&operations, &names(desired, saved))))
}

/// Whether what was started is still there.
pub(super) fn health(
    here: &Here,
    parameters: &Parameters,
    saved: Option<&Saved>,
) -> Result<Health, ServiceError> {
    let found = look(&here.configfs, parameters, saved)?;
    let there = targets(&found);
    let Some(saved) = saved.filter(|_| !there.is_empty()) else {
        return Ok(Health::Stopped);
    };
    let nodes = nodes(&parameters.pool, &saved.desired, &BTreeMap::new());
    let operations = plan(&nodes, &found, &BTreeSet::new());
    let mut missing = words(&operations, &names(&saved.desired, Some(saved)));
    if missing.is_empty() && !saved.before.is_empty() {
        missing.push(UNFINISHED.into());
    }
    Ok(match missing.is_empty() {
        true => Health::Running,
        false => Health::Broken(missing),
    })
}

/// What is there of the pool.
fn look(
    configfs: &Configfs,
    parameters: &Parameters,
    saved: Option<&Saved>,
) -> Result<Tree, ServiceError> {
    let ours = ours(configfs, parameters, saved)?;
    Ok(configfs.look(&parameters.pool, &ours)?)
}

/// The targets that starts of this pool made: by its copy. Without one, those that offer the pool's own units
/// and no others; what a target is called proves nothing.
fn ours(
    configfs: &Configfs,
    parameters: &Parameters,
    saved: Option<&Saved>,
) -> Result<BTreeSet<String>, ServiceError> {
    let Some(saved) = saved else {
        return Ok(configfs.targets_of(&parameters.pool)?);
    };
    let made = saved.before.iter().chain([&saved.desired]);
    Ok(made
        .flat_map(|desired| desired.targets.keys().cloned())
        .collect())
}

/// That no target of a wanted name is there which is not ours.
fn foreign(
    configfs: &Configfs,
    desired: &Desired,
    ours: &BTreeSet<String>,
) -> Result<(), ServiceError> {
    let there = configfs.targets()?;
    let wanted = desired.targets.keys().cloned();
    let of = "the kernel's target";
    let wanted = wanted.map(|iqn| Thing::Target { iqn, of });
    Ok(only_ours(wanted, |thing| match thing {
        Thing::Target { iqn, .. } if ours.contains(iqn) => Some(Whose::Ours),
        Thing::Target { iqn, .. } => there.contains(iqn).then_some(Whose::Unknown),
        _ => None,
    })?)
}

/// That no number that clients are using comes to mean another volume.
fn renumbered(
    configfs: &Configfs,
    desired: &Desired,
    saved: Option<&Saved>,
) -> Result<(), ServiceError> {
    let Some(served) = saved.map(|saved| &saved.desired) else {
        return Ok(());
    };
    for (iqn, target) in &desired.targets {
        let Some(now) = served.targets.get(iqn) else {
            continue;
        };
        for (lun, exposure) in &target.luns {
            let unit = |desired: &Desired, serial: &str| desired.units.get(serial).cloned();
            let serial = now.luns.get(lun).map_or("", |now| now.serial.as_str());
            let now = unit(served, serial);
            let then = unit(desired, &exposure.serial);
            let (Some(now), Some(then)) = (now, then) else {
                continue;
            };
            let other = now.identity != then.identity && serial != exposure.serial;
            if other && !configfs.sessions(iqn)?.is_empty() {
                return Err(ServiceError::Renumbered {
                    iqn: iqn.clone(),
                    lun: *lun,
                    now: now.path,
                    then: then.path,
                });
            }
        }
    }
    Ok(())
}

/// Volumes that were replaced by others of the same name are still the old ones to the kernel.
fn stale(pool: &str, desired: &Desired, saved: Option<&Saved>) -> BTreeSet<String> {
    let Some(saved) = saved else {
        return BTreeSet::new();
    };
    let made = saved.before.iter().chain([&saved.desired]);
    let made: Vec<&Desired> = made.collect();
    let replaced = |serial: &String, identity: &str| {
        made.iter().any(|made| {
            let before = made.units.get(serial);
            before.is_some_and(|before| before.identity != identity)
        })
    };
    let units = desired.units.iter();
    units
        .filter(|(serial, unit)| replaced(serial, &unit.identity))
        .map(|(serial, unit)| backstore(pool, serial, unit))
        .collect()
}

fn targets(found: &Tree) -> Vec<String> {
    let folders = found.keys().filter_map(|path| path.strip_prefix("iscsi/"));
    folders
        .filter(|rest| !rest.contains('/'))
        .map(str::to_owned)
        .collect()
}

fn secrets(desired: &Desired) -> Result<BTreeMap<SecretRef, String>, ServiceError> {
    let mut secrets = BTreeMap::new();
    let targets = desired.targets.values();
    for secret in targets.flat_map(|target| target.accounts().into_values()) {
        let text = read_secret(&secret)?;
        if text.starts_with("NULL") {
            let path = secret.to_string();
            return Err(ServiceError::NullSecret { path });
        }
        secrets.insert(secret, text);
    }
    Ok(secrets)
}

fn digests(secrets: &BTreeMap<SecretRef, String>) -> BTreeMap<SecretRef, Digest> {
    let digest = |(secret, text): (&SecretRef, &String)| {
        (secret.clone(), Sha256::digest(text.as_bytes()).into())
    };
    secrets.iter().map(digest).collect()
}

/// Volumes by their serial numbers, also of those that go.
fn names(desired: &Desired, saved: Option<&Saved>) -> BTreeMap<String, String> {
    let before = saved.into_iter().map(|saved| &saved.desired);
    let units = before.chain([desired]).flat_map(|desired| &desired.units);
    units
        .map(|(serial, unit)| (serial.clone(), unit.name.clone()))
        .collect()
}

fn words(operations: &[Operation], names: &BTreeMap<String, String>) -> Vec<String> {
    notable(operations, &borrowed(names))
}

fn borrowed(names: &BTreeMap<String, String>) -> BTreeMap<&str, &str> {
    let pairs = names.iter();
    pairs.map(|(a, b)| (a.as_str(), b.as_str())).collect()
}

fn perform(
    configfs: &Configfs,
    operations: &[Operation],
    secrets: &BTreeMap<SecretRef, String>,
    names: &BTreeMap<String, String>,
    said: &mut dyn FnMut(&str),
) -> Result<(), ServiceError> {
    for operation in operations {
        configfs.perform(operation, secrets)?;
    }
    for what in words(operations, names) {
        said(&what);
    }
    Ok(())
}
