//! The service with the kernel's NFS server.

use std::collections::BTreeSet;
use std::path::Path;

use super::owned::{Thing, Whose, only_ours};
use super::{Health, ServiceError};
use crate::exports::desired::Desired;
use crate::exports::host::{Parameters, Saved};
use crate::exports::nfs::{Found, Operation, Pair, plan, server};

/// Finds what is in the way of what is wanted before anything is touched.
pub(super) fn check(
    parameters: &Parameters,
    desired: &Desired,
    saved: Option<&Saved>,
) -> Result<(), ServiceError> {
    if desired.nfs.is_empty() {
        return Ok(());
    }
    server::ready()?;
    let found = server::look()?;
    let ours = ours(parameters, saved, &found);
    let wanted = pairs(desired).map(|(directory, client)| Thing::Export(directory, client));
    Ok(only_ours(wanted, |thing| {
        let Thing::Export(directory, client) = thing else {
            return None;
        };
        let pair = (directory.clone(), client.clone());
        match ours.contains(&pair) {
            true => Some(Whose::Ours),
            false => found.contains_key(&pair).then_some(Whose::Unknown),
        }
    })?)
}

/// Exports what is wanted and no longer what was. `saved` knows what starts before made.
pub(super) fn start(
    parameters: &Parameters,
    desired: &Desired,
    saved: &Saved,
    said: &mut dyn FnMut(&str),
) -> Result<(), ServiceError> {
    let found = server::look()?;
    let ours = ours(parameters, Some(saved), &found);
    let operations = plan(&desired.nfs, &found, &ours);
    perform(&operations, said)?;
    let left = plan(&desired.nfs, &server::look()?, &ours);
    match left.is_empty() {
        true => Ok(()),
        false => Err(ServiceError::NotTaken(words(&left))),
    }
}

/// Takes all exports of the pool away, and makes the server let go of its file systems.
pub(super) fn stop(
    saved: Option<&Saved>,
    parameters: &Parameters,
    said: &mut dyn FnMut(&str),
) -> Result<(), ServiceError> {
    let found = server::look()?;
    let ours = ours(parameters, saved, &found);
    let none = Desired::default().nfs;
    perform(&plan(&none, &found, &ours), said)?;
    let left = plan(&none, &server::look()?, &ours);
    if !left.is_empty() {
        return Err(ServiceError::NotTaken(words(&left)));
    }
    let directories: BTreeSet<&str> = ours.iter().map(|(path, _)| path.as_str()).collect();
    Ok(server::release(&Vec::from_iter(directories))?)
}

/// What a start would do.
pub(super) fn compare(
    parameters: &Parameters,
    desired: &Desired,
    saved: Option<&Saved>,
) -> Result<(Vec<String>, Found), ServiceError> {
    let mut found = server::look()?;
    let ours = ours(parameters, saved, &found);
    let mut pending = words(&plan(&desired.nfs, &found, &ours));
    if !desired.nfs.is_empty() {
        pending.extend(server::ready().err().map(|error| error.to_string()));
    }
    found.retain(|pair, _| ours.contains(pair));
    Ok((pending, found))
}

/// Whether what was started is still there. `None`: nothing was, and nothing is.
pub(super) fn health(
    parameters: &Parameters,
    saved: Option<&Saved>,
) -> Result<Option<Health>, ServiceError> {
    let found = server::look()?;
    let Some(saved) = saved else {
        let there = ours(parameters, None, &found).into_iter();
        let foreign = |(directory, client)| {
            format!("{directory} is exported to {client}, and was not started by hawser")
        };
        let foreign: Vec<String> = there.map(foreign).collect();
        return Ok((!foreign.is_empty()).then_some(Health::Broken(foreign)));
    };
    let desired = &saved.desired;
    if desired.nfs.is_empty() {
        return Ok(None);
    }
    if !pairs(desired).any(|pair| found.contains_key(&pair)) {
        return Ok(Some(Health::Stopped));
    }
    let mut missing = words(&plan(&desired.nfs, &found, &BTreeSet::new()));
    missing.extend(server::ready().err().map(|error| error.to_string()));
    Ok(Some(match missing.is_empty() {
        true => Health::Running,
        false => Health::Broken(missing),
    }))
}

/// What this pool has exported: by its copy. Without one, all that is below its root.
fn ours(parameters: &Parameters, saved: Option<&Saved>, found: &Found) -> BTreeSet<Pair> {
    match saved {
        Some(saved) => {
            let made = saved.before.iter().chain([&saved.desired]);
            made.flat_map(pairs).collect()
        }
        None => {
            let below = |(path, _): &&Pair| Path::new(path).starts_with(&parameters.root);
            found.keys().filter(below).cloned().collect()
        }
    }
}

fn pairs(desired: &Desired) -> impl Iterator<Item = Pair> {
    desired.nfs.iter().flat_map(|(path, directory)| {
        let clients = directory.clients.keys();
        clients.map(|client| (path.clone(), client.clone()))
    })
}

fn words(operations: &[Operation]) -> Vec<String> {
    operations.iter().map(Operation::words).collect()
}

fn perform(operations: &[Operation], said: &mut dyn FnMut(&str)) -> Result<(), ServiceError> {
    for operation in operations {
        server::perform(operation)?;
        said(&operation.words());
    }
    Ok(())
}
