//! Starting and stopping.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use hawser_model::cluster_file::Backend;

use super::here::Here;
use super::owned::{Foreign, Thing, Whose, only_ours};
use super::seen::{self, Scope};
use super::start::LastStart;
use super::{ServiceError, Wanted, lio, nfs, tgt, wanted};
use crate::exports::desired::{Desired, Portal};
use crate::exports::host::{FOLDER, Lock, Made, Mark, Parameters, Place, Saved};
use crate::exports::lio::{KernelError, ready};

/// Makes the target offer what the pool is to offer. `said` hears what is done, in words.
///
/// The pool is read, and what is to be remembered is written to it, before the lock is taken: a pool that
/// hangs keeps nobody from stopping another.
pub fn start(parameters: &Parameters, said: &mut dyn FnMut(&str)) -> Result<(), ServiceError> {
    let here = Here::default();
    for _ in 0..READINGS {
        let has_target = target_ready(parameters);
        let read = stamps(parameters);
        let wanted = match wanted(parameters) {
            // A pool that is offered by NFS alone needs no target.
            Ok(wanted) if wanted.desired.targets.is_empty() => wanted,
            Err(error @ ServiceError::NoAuthority { .. }) => return Err(error),
            outcome => {
                has_target?;
                outcome?
            }
        };
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
    said: &mut dyn FnMut(&str),
) -> Result<(), ServiceError> {
    let saved = Saved::read_in(&here.folder, &parameters.pool)?;
    let others = Saved::others(&here.folder, &parameters.pool)?;
    others_targets(&wanted.desired, &others)?;
    nfs::check(parameters, &wanted.desired, saved.as_ref())?;
    // What another implementation offers is in the way of this one.
    let saved = match saved {
        Some(saved) if saved.parameters.backend != parameters.backend => {
            let parameters = saved.parameters.clone();
            let last = LastStart::Saved(Box::new(saved));
            take_away(here, &last, &parameters, said)?;
            None
        }
        saved => saved,
    };
    let mut copy = match parameters.backend {
        _ if wanted.desired.targets.is_empty() => {
            let stated = Some(&wanted.desired);
            let why = targets_away(here, saved.as_ref(), stated, parameters, said)?;
            if let Some(saved) = &saved {
                let mut scope = Scope::of(saved, parameters);
                scope.nfs.clear();
                seen::nobody(here, &scope, &parameters.pool, why)?;
            }
            let (marks, portals) = (BTreeMap::new(), BTreeSet::new());
            begin(here, parameters, wanted, saved, marks, portals, None)?
        }
        Backend::Tgt => tgt::start(here, parameters, wanted, saved, &others, said)?,
        Backend::Lio => lio::start(here, parameters, wanted, saved, said)?,
    };
    nfs::start(parameters, &wanted.desired, &copy, said)?;
    copy.before.clear();
    copy.volumes = volumes(&wanted.desired);
    Ok(copy.write(&here.folder)?)
}

/// Whether the kernel has the target that is asked for.
fn target_ready(parameters: &Parameters) -> Result<(), KernelError> {
    match parameters.backend {
        Backend::Lio => ready(),
        Backend::Tgt => Ok(()),
    }
}

/// Takes everything of the pool away from the target, also when the pool is gone.
pub fn stop(parameters: &Parameters, said: &mut dyn FnMut(&str)) -> Result<(), ServiceError> {
    stop_on(&Here::default(), parameters, said)
}

/// The same on a host.
pub(super) fn stop_on(
    here: &Here,
    parameters: &Parameters,
    said: &mut dyn FnMut(&str),
) -> Result<(), ServiceError> {
    let saved = || Saved::read_in(&here.folder, &parameters.pool);
    for _ in 0..READINGS {
        let unknown = match saved()? {
            Some(_) => None,
            None => Some(LastStart::unknown(parameters)?),
        };
        let _lock = Lock::wait(&here.folder, &parameters.pool)?;
        let saved = saved()?.map(|saved| LastStart::Saved(Box::new(saved)));
        // Another stop may have removed the copy meanwhile: then the pool is to be read.
        if let Some(last) = saved.or(unknown) {
            return take_away(here, &last, parameters, said);
        }
    }
    let path = parameters.file().display().to_string();
    Err(ServiceError::Restless { path })
}

/// What was started last goes first. What was started is forgotten when nobody serves it.
fn take_away(
    here: &Here,
    last: &LastStart,
    parameters: &Parameters,
    said: &mut dyn FnMut(&str),
) -> Result<(), ServiceError> {
    let saved = last.saved();
    nfs::stop(saved, parameters, said)?;
    let why = targets_away(here, saved, last.desired(), parameters, said)?;
    seen::nobody(here, &last.scope(parameters), &parameters.pool, why)?;
    Ok(Saved::remove(&here.folder, &parameters.pool)?)
}

/// By the implementation that offers them; without a copy, what the pool states. Why it could not be asked is
/// returned.
fn targets_away(
    here: &Here,
    saved: Option<&Saved>,
    stated: Option<&Desired>,
    parameters: &Parameters,
    said: &mut dyn FnMut(&str),
) -> Result<Option<String>, ServiceError> {
    match backend(saved, parameters) {
        Backend::Tgt => tgt::stop(here, saved, stated, parameters, said),
        Backend::Lio => lio::stop(here, saved, parameters, said).map(|()| None),
    }
}

/// What runs now is what was started, whatever is to be started next.
pub(super) fn backend(saved: Option<&Saved>, parameters: &Parameters) -> Backend {
    saved.map_or(parameters.backend, |saved| saved.parameters.backend)
}

/// Writes down what a start may make before anything is made.
pub(super) fn begin(
    here: &Here,
    parameters: &Parameters,
    wanted: &Wanted,
    saved: Option<Saved>,
    marks: BTreeMap<String, Mark>,
    portals: BTreeSet<Portal>,
    made: Option<Made>,
) -> Result<Saved, ServiceError> {
    let mut all = saved
        .as_ref()
        .map_or(BTreeMap::new(), |saved| saved.volumes.clone());
    all.extend(volumes(&wanted.desired));
    let before = match saved {
        Some(saved) => replaced(saved),
        // Nothing was there, and until this ends well something may be.
        None => vec![Desired::default()],
    };
    let copy = Saved {
        parameters: parameters.clone(),
        desired: wanted.desired.clone(),
        before,
        marks,
        portals,
        made,
        volumes: all,
    };
    copy.write(&here.folder)?;
    Ok(copy)
}

/// What the volumes are, whatever becomes of their names.
fn volumes(desired: &Desired) -> BTreeMap<String, Place> {
    let units = desired.units.values();
    units
        .filter_map(|unit| Some((unit.path.clone(), Place::at(&unit.path)?)))
        .collect()
}

/// Writes what is to be remembered, before a client sees it: a number that a client has seen must be on
/// the disk, or the next head would give out another.
fn remember(parameters: &Parameters, wanted: &Wanted) -> Result<(), ServiceError> {
    if wanted.state != wanted.remembered || !parameters.state().exists() {
        let text = wanted.state.to_text();
        hawser_files::replace(&parameters.state(), text.as_bytes(), 0o600)?;
    }
    Ok(())
}

/// That no other pool has a target of a wanted name.
fn others_targets(desired: &Desired, others: &[Saved]) -> Result<(), Foreign> {
    let wanted = desired.targets.keys().cloned();
    let of = "the target";
    only_ours(wanted.map(|iqn| Thing::Target { iqn, of }), |thing| {
        let Thing::Target { iqn, .. } = thing else {
            return None;
        };
        let mut others = others.iter();
        let other = others.find(|other| other.desired.targets.contains_key(iqn))?;
        Some(Whose::Pool(other.parameters.pool.clone()))
    })
}

/// What was made and may still be there: all of it, when several starts did not end well.
fn replaced(saved: Saved) -> Vec<Desired> {
    let mut all = saved.before;
    if all.last() != Some(&saved.desired) {
        all.push(saved.desired);
    }
    all
}
