//! The service with the kernel's own target.

use std::collections::{BTreeMap, BTreeSet};

use hawser_model::cluster_file::SecretRef;
use sha2::{Digest as _, Sha256};

use super::{Health, ServiceError, Targets, Wanted, begin, judged, wanted};
use crate::exports::desired::Desired;
use crate::exports::host::{Parameters, Saved, read_secret};
use crate::exports::lio::{
    Configfs, Digest, Operation, Tree, backstore, nodes, notable, plan, ready,
};

/// Makes the kernel offer what is wanted.
pub(super) fn start(
    parameters: &Parameters,
    wanted: &Wanted,
    saved: Option<Saved>,
    said: &mut dyn FnMut(&str),
) -> Result<Saved, ServiceError> {
    let desired = &wanted.desired;
    let secrets = secrets(desired)?;
    let configfs = Configfs::default();
    let found = look(&configfs, parameters, saved.as_ref(), Some(desired))?;
    let pool = &parameters.pool;
    let nodes = nodes(pool, desired, &digests(&secrets));
    let stale = stale(pool, desired, saved.as_ref());
    let operations = plan(&nodes, &found, &stale);
    let names = names(desired, saved.as_ref());
    let copy = begin(parameters, wanted, saved, BTreeMap::new(), BTreeSet::new())?;
    perform(&configfs, &operations, &secrets, &names, said)?;

    let found = look(&configfs, parameters, Some(&copy), Some(desired))?;
    let left = plan(&nodes, &found, &BTreeSet::new());
    if !left.is_empty() {
        return Err(ServiceError::NotTaken(words(&left, &names)));
    }
    Ok(copy)
}

/// Takes everything of the pool away from the kernel.
pub(super) fn stop(
    saved: Option<&Saved>,
    parameters: &Parameters,
    said: &mut dyn FnMut(&str),
) -> Result<(), ServiceError> {
    let configfs = Configfs::default();
    // Without a copy, what the pool says now is the next best: a target may have a name of its own
    // there.
    let now = match saved {
        Some(_) => None,
        None => wanted(parameters).ok().map(|wanted| wanted.desired),
    };
    let names = names(&Desired::default(), saved);
    let found = look(&configfs, parameters, saved, now.as_ref())?;
    let operations = plan(&[], &found, &BTreeSet::new());
    perform(&configfs, &operations, &BTreeMap::new(), &names, said)?;
    let found = look(&configfs, parameters, saved, now.as_ref())?;
    match found.is_empty() {
        true => Ok(()),
        false => Err(ServiceError::NotTaken(found.into_keys().collect())),
    }
}

/// Compares the kernel with what the pool is to offer.
pub(super) fn compare(
    parameters: &Parameters,
    desired: &Desired,
    saved: Option<&Saved>,
) -> Result<Targets, ServiceError> {
    let secrets = secrets(desired)?;
    ready()?;
    let configfs = Configfs::default();
    let found = look(&configfs, parameters, saved, Some(desired))?;
    let nodes = nodes(&parameters.pool, desired, &digests(&secrets));
    let operations = plan(&nodes, &found, &stale(&parameters.pool, desired, saved));
    let mut sessions = BTreeMap::new();
    for iqn in targets(&found) {
        let there = configfs.sessions(&iqn)?;
        sessions.insert(iqn, there);
    }
    Ok((sessions, words(&operations, &names(desired, saved))))
}

/// Whether what was started is still there.
pub(super) fn health(
    parameters: &Parameters,
    saved: Option<&Saved>,
) -> Result<Health, ServiceError> {
    let configfs = Configfs::default();
    let found = look(&configfs, parameters, saved, None)?;
    let there = targets(&found);
    if there.is_empty() {
        return Ok(Health::Stopped);
    }
    let missing = saved.map_or(Vec::new(), |saved| {
        let nodes = nodes(&parameters.pool, &saved.desired, &BTreeMap::new());
        let operations = plan(&nodes, &found, &BTreeSet::new());
        words(&operations, &names(&saved.desired, Some(saved)))
    });
    Ok(judged(saved, there, missing))
}

/// What is there of the pool: what it has made by its copy or is about to make; without a copy, the
/// targets with the names that its targets have when the file gives them no others.
fn look(
    configfs: &Configfs,
    parameters: &Parameters,
    saved: Option<&Saved>,
    desired: Option<&Desired>,
) -> Result<Tree, ServiceError> {
    let made = saved.into_iter();
    let made = made.flat_map(|saved| saved.before.iter().chain([&saved.desired]));
    let mut ours: BTreeSet<String> = made
        .chain(desired)
        .flat_map(|desired| desired.targets.keys().cloned())
        .collect();
    if saved.is_none() {
        let context = parameters.context();
        let there = configfs.targets()?.into_iter();
        ours.extend(there.filter(|iqn| context.names(iqn)));
    }
    Ok(configfs.look(&parameters.pool, &ours)?)
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
