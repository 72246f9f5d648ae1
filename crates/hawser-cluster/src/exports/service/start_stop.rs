//! Starting and stopping.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use hawser_model::cluster_file::Backend;

use super::here::Here;
use super::job::{Job, Purpose};
use super::keep::{forget, keep};
use super::owned::{Foreign, Thing, Whose, only_ours};
use super::seen::{self, Scope};
use super::server::{self, NFS, iscsi};
use super::{Said, ServiceError, Wanted, wanted};
use crate::exports::desired::Desired;
use crate::exports::host::{FOLDER, Lock, Parameters, Saved, StorageId, write_kept};
use crate::exports::nfs::reclaim;

/// Makes the target offer what the pool is to offer. `said` hears what is done, in words.
///
/// The pool is read, and what is to be remembered is written to it, before the lock is taken: a pool that
/// hangs keeps nobody from stopping another.
pub fn start(parameters: &Parameters, said: Said<'_>) -> Result<(), ServiceError> {
    let here = Here::default();
    for _ in 0..READINGS {
        let read = stamps(parameters);
        // What is wrong with the file is wrong whatever this host has. A pool that is offered by NFS alone needs no target.
        let wanted = wanted(parameters)?;
        if !wanted.desired.targets.is_empty() {
            iscsi(parameters.backend).ready()?;
        }
        if stamps(parameters) != read {
            continue;
        }
        remember(parameters, &wanted)?;
        let read = stamps(parameters);
        let _lock = Lock::wait(&here.folder, &parameters.pool)?;
        if stamps(parameters) == read {
            return make(&here, parameters, &wanted, said);
        }
    }
    let path = parameters.file().display().to_string();
    Err(ServiceError::Restless { path })
}

/// How often a pool is read whose files change meanwhile.
const READINGS: usize = 5;

/// By what it is known that a start reads what another one has just written.
fn stamps(parameters: &Parameters) -> [Option<(u64, u64, i64, i64)>; 3] {
    let copy = PathBuf::from(format!("{FOLDER}/{}.json", parameters.pool));
    [parameters.file(), parameters.state(), copy].map(|path| {
        let about = fs::symlink_metadata(path).ok()?;
        Some((about.ino(), about.size(), about.mtime(), about.mtime_nsec()))
    })
}

/// Makes it, alone on this host.
pub(super) fn make(
    here: &Here,
    parameters: &Parameters,
    wanted: &Wanted,
    said: Said<'_>,
) -> Result<(), ServiceError> {
    let desired = &wanted.desired;
    let saved = Saved::read_in(&here.folder, &parameters.pool)?;
    let saved = saved.as_ref();
    let mut job = Job {
        reservations: wanted.reservations.clone(),
        ..Job::new(here, parameters, Purpose::Start, saved, Some(desired))?
    };
    others_targets(desired, &job.others()?)?;
    wanted.reservations.left_out.iter().for_each(|it| said(it));
    if let Some(lost) = lost_with_head(desired, parameters.backend) {
        said(&lost);
    }
    // What is in the way of the exports by NFS is found before the target is touched.
    NFS.look(&job)?;
    // What another implementation offers is in the way of this one.
    let other = |old: &&Saved| old.parameters.backend != parameters.backend;
    if let Some(old) = job.saved.filter(other) {
        let parameters = &old.parameters;
        let scope = || Scope::of(old, parameters);
        take_away(here, parameters, Some(old), None, scope, said)?;
        job.saved = None;
    }
    let target = iscsi(parameters.backend);
    let mut copy = draft(parameters, desired, job.saved);
    match desired.targets.is_empty() {
        true => {
            let why = server::stop(target, &job.again(Purpose::Stop, job.saved), said)?;
            if let Some(saved) = job.saved {
                let mut scope = Scope::of(saved, parameters);
                scope.nfs.clear();
                seen::nobody(here, &scope, &parameters.pool, why)?;
            }
        }
        false => server::start(target, &job, &mut copy, said)?,
    }
    if !desired.nfs.is_empty() {
        let started = job.saved.map(Saved::nfs_pairs).unwrap_or_default();
        reclaim::admit(parameters, &started, &wanted.clients, said)?;
    }
    server::start(NFS, &job, &mut copy, said)?;
    copy.before.clear();
    copy.volumes = volumes(desired);
    Ok(copy.write(&here.folder)?)
}

/// What a head that dies takes with it, if the file allows that.
fn lost_with_head(desired: &Desired, backend: Backend) -> Option<String> {
    let units = desired.units.values();
    let units = units.filter(|unit| unit.dies_with_head(backend));
    let names: Vec<&str> = units.map(|unit| unit.name.as_str()).collect();
    (!names.is_empty()).then(|| {
        format!(
            "write_cache = true: a head that dies takes acknowledged writes of {} with it, and clients that live on do not write \
             them again",
            names.join(", ")
        )
    })
}

/// Takes everything of the pool away from the target, also when the pool is gone.
pub fn stop(parameters: &Parameters, said: Said<'_>) -> Result<(), ServiceError> {
    // Before they are taken away. That they lose something keeps nobody from stopping.
    if let Some(what) = keep(&parameters.pool) {
        said(&what);
    }
    stop_on(&Here::default(), parameters, said)?;
    forget(&parameters.pool);
    Ok(reclaim::forget(&parameters.pool)?)
}

/// The same on a host.
pub(super) fn stop_on(
    here: &Here,
    parameters: &Parameters,
    said: Said<'_>,
) -> Result<(), ServiceError> {
    let saved = || Saved::read_in(&here.folder, &parameters.pool);
    for _ in 0..READINGS {
        // Without a copy, what the pool says now is the next best, and all that it could offer is looked for. If its
        // files cannot be read, what is open will tell. It may hang, so it is not read under the lock.
        let unknown = match saved()? {
            Some(_) => None,
            None => {
                let stated = wanted(parameters).ok().map(|wanted| wanted.desired);
                Some((stated, Scope::of_pool(parameters)?))
            }
        };
        let _lock = Lock::wait(&here.folder, &parameters.pool)?;
        match (saved()?, unknown) {
            (Some(saved), _) => {
                let scope = || Scope::of(&saved, parameters);
                return take_away(here, parameters, Some(&saved), None, scope, said);
            }
            (None, Some((stated, scope))) => {
                return take_away(here, parameters, None, stated.as_ref(), || scope, said);
            }
            // Another stop has removed the copy meanwhile: now the pool is to be read.
            (None, None) => {}
        }
    }
    let path = parameters.file().display().to_string();
    Err(ServiceError::Restless { path })
}

/// What was started last goes first. What was started is forgotten when nobody serves it. `scope` is what is looked for;
/// a pool that hangs may hang whoever asks, so it is asked last.
fn take_away(
    here: &Here,
    parameters: &Parameters,
    saved: Option<&Saved>,
    stated: Option<&Desired>,
    scope: impl FnOnce() -> Scope,
    said: Said<'_>,
) -> Result<(), ServiceError> {
    let job = Job::new(here, parameters, Purpose::Stop, saved, stated)?;
    server::stop(NFS, &job, said)?;
    let why = server::stop(iscsi(job.backend()), &job, said)?;
    seen::nobody(here, &scope(), &parameters.pool, why)?;
    Ok(Saved::remove(&here.folder, &parameters.pool)?)
}

/// What is to be written down before anything is made: what is wanted, and what was made and may still be there.
fn draft(parameters: &Parameters, desired: &Desired, saved: Option<&Saved>) -> Saved {
    let (mut before, mut all) = match saved {
        Some(saved) => (saved.before.clone(), saved.volumes.clone()),
        // Nothing was there, and until this ends well something may be.
        None => (vec![Desired::default()], BTreeMap::new()),
    };
    // All of it, when several starts did not end well.
    let last = saved.map(|saved| &saved.desired);
    before.extend(last.filter(|last| before.last() != Some(last)).cloned());
    all.extend(volumes(desired));
    Saved {
        parameters: parameters.clone(),
        desired: desired.clone(),
        before,
        marks: BTreeMap::new(),
        portals: BTreeSet::new(),
        made: None,
        volumes: all,
    }
}

/// What the volumes are, whatever becomes of their names.
fn volumes(desired: &Desired) -> BTreeMap<String, StorageId> {
    let units = desired.units.values();
    units
        .filter_map(|unit| Some((unit.path.clone(), StorageId::at(&unit.path)?)))
        .collect()
}

/// Writes what is to be remembered, before a client sees it: a number that a client has seen must be on
/// the disk, or the next head would give out another.
fn remember(parameters: &Parameters, wanted: &Wanted) -> Result<(), ServiceError> {
    if wanted.state != wanted.remembered || !parameters.state().exists() {
        let text = wanted.state.to_text();
        write_kept(&parameters.state(), &text)?;
    }
    Ok(())
}

/// That no other pool has a target of a wanted name.
fn others_targets(desired: &Desired, others: &[Saved]) -> Result<(), Foreign> {
    for iqn in desired.targets.keys() {
        let mut others = others.iter();
        let other = others.find(|other| other.desired.targets.contains_key(iqn));
        let whose = other.map(|other| Whose::Pool(other.parameters.pool.clone()));
        let (iqn, of) = (iqn.clone(), "the target");
        only_ours(Thing::Target { iqn, of }, whose)?;
    }
    Ok(())
}
