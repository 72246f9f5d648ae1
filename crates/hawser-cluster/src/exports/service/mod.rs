//! Starting, stopping and looking at the exports of a pool on this host.
//!
//! A start is all or nothing: what is wrong is found before the target is touched, and afterwards the
//! target is read again and compared with what was wanted. Whatever a start may have made is written
//! down before it is made, so that a stop knows it even if the start was killed.

mod lio;
mod nfs;
mod tgt;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;

use hawser_model::cluster_file::Backend;

use super::desired::{Desired, Portal};
use super::file::{self, ExportsFile};
use super::host::{
    DirectoriesError, Lock, LockError, Mark, Parameters, Saved, SavedError, SecretError,
    VolumesError, WriteError, find_directories, find_volumes, mounted, write_whole,
};
use super::lio::{ConfigfsError, KernelError, ready};
use super::nfs::server::NfsError;
use super::nfs::{Found, apart, resolve as resolve_nfs};
use super::resolve::{ExportsError, Resolved, resolve};
use super::rules::BrokenExports;
use super::state::{State, StateError};
use super::tgt::DaemonError;
use hawser_model::toml_file::FileErrors;

/// Why it could not be done.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the message says it")]
pub enum ServiceError {
    #[error(transparent)]
    Kernel(#[from] KernelError),
    #[error(transparent)]
    Nfs(#[from] NfsError),
    #[error(transparent)]
    Configfs(#[from] ConfigfsError),
    #[error("{path}: to the kernel a secret that begins with NULL is none: choose another")]
    NullSecret { path: String },
    #[error("pool {pool} is not here: nothing is mounted at {root}")]
    NotMounted { pool: String, root: String },
    #[error("{call} {path}: {source}")]
    Io {
        call: &'static str,
        path: String,
        source: std::io::Error,
    },
    #[error("{path} does not exist: create it; an empty one offers every volume to everybody")]
    NoFile { path: String },
    #[error(
        "{path} offers volumes by iSCSI, and their target cannot be named: there is no naming authority (iqn)"
    )]
    NoAuthority { path: String },
    #[error("{0}")]
    File(Box<FileErrors<BrokenExports>>),
    #[error("{path}: {}", list(.errors))]
    Exports {
        path: String,
        errors: Vec<ExportsError>,
    },
    #[error(transparent)]
    State(#[from] StateError),
    #[error(transparent)]
    Volumes(#[from] VolumesError),
    #[error(transparent)]
    Directories(#[from] DirectoriesError),
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error(transparent)]
    Daemon(#[from] DaemonError),
    #[error(transparent)]
    Saved(#[from] SavedError),
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error("account \"{user}\" is in tgtd already, {whose}: choose another name")]
    ForeignAccount { user: String, whose: String },
    #[error("target {iqn} belongs to pool {pool}")]
    ForeignTarget { iqn: String, pool: String },
    #[error(
        "{directory} is exported to {client} already, and not by hawser: take it out of /etc/exports and of Pacemaker"
    )]
    ForeignExport { directory: String, client: String },
    #[error("the target took everything and still has not: {}", .0.join("; "))]
    NotTaken(Vec<String>),
}

fn list(errors: &[ExportsError]) -> String {
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    texts.join("; ")
}

/// What the pool is to offer, as it is on this host now.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// What the target is to have.
    pub desired: Desired,
    state: State,
    remembered: State,
}

/// The target as it is, beside what it is to have.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// Who is logged in to each of the pool's targets that are there.
    pub sessions: BTreeMap<String, Vec<String>>,
    /// What is exported by NFS.
    pub exported: Found,
    /// What would be done, in words; empty when everything is as it should be.
    pub pending: Vec<String>,
}

/// How the exports of a pool are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// All that was started is there.
    Running,
    /// None of it.
    Stopped,
    /// Only a part, with what is missing.
    Broken(Vec<String>),
}

/// Reads the pool and says what it is to offer.
pub fn wanted(parameters: &Parameters) -> Result<Wanted, ServiceError> {
    let root = &parameters.root;
    let failed = |call, path: &std::path::Path| {
        let path = path.display().to_string();
        move |source| ServiceError::Io { call, path, source }
    };
    let not_mounted = || ServiceError::NotMounted {
        pool: parameters.pool.clone(),
        root: root.display().to_string(),
    };
    let mount = match mounted(root) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Err(not_mounted()),
        outcome => outcome.map_err(failed("look at the mounts at", root))?,
    };
    let mount = mount.ok_or_else(not_mounted)?;
    let path = parameters.file();
    let text = fs::read_to_string(&path).map_err(|e| match e.kind() {
        ErrorKind::NotFound => ServiceError::NoFile {
            path: path.display().to_string(),
        },
        _ => failed("read", &path)(e),
    })?;
    let shown = path.display().to_string();
    let file: ExportsFile =
        file::parse(&text, &shown).map_err(|errors| ServiceError::File(Box::new(errors)))?;
    let state_path = parameters.state();
    let remembered = match fs::read_to_string(&state_path) {
        Ok(text) => State::parse(&text, &state_path.display().to_string())?,
        Err(e) if e.kind() == ErrorKind::NotFound => State::default(),
        Err(e) => return Err(failed("read", &state_path)(e)),
    };
    let wrong = |errors| ServiceError::Exports {
        path: shown.clone(),
        errors,
    };
    let directories = find_directories(parameters, &file).map_err(|error| match error {
        DirectoriesError::Exports(error) => wrong(vec![error]),
        error => error.into(),
    })?;
    let volumes = find_volumes(parameters, &mount)?;
    let volumes = apart(&file, volumes, &directories).map_err(wrong)?;
    let resolved = resolve(&file, &volumes, &remembered, &parameters.context());
    let Resolved {
        mut desired,
        mut state,
    } = resolved.map_err(wrong)?;
    let unnamed = |iqn: &String| iqn.starts_with(':');
    if parameters.authority.is_empty() && desired.targets.keys().any(unnamed) {
        return Err(ServiceError::NoAuthority { path: shown });
    }
    desired.nfs = resolve_nfs(&file, &directories, &mut state, &parameters.pool);
    Ok(Wanted {
        desired,
        state,
        remembered,
    })
}

/// Makes the target offer what the pool is to offer. `said` hears what is done, in words.
pub fn start(parameters: &Parameters, said: &mut dyn FnMut(&str)) -> Result<(), ServiceError> {
    let has_target = target_ready(parameters);
    let _lock = Lock::wait()?;
    let wanted = match wanted(parameters) {
        // A pool that is offered by NFS alone needs no target.
        Ok(wanted) if wanted.desired.targets.is_empty() => wanted,
        Err(error @ ServiceError::NoAuthority { .. }) => return Err(error),
        outcome => {
            has_target?;
            outcome?
        }
    };
    let saved = Saved::read(&parameters.pool)?;
    let others = Saved::others(&parameters.pool)?;
    foreign_targets(&wanted.desired, &others)?;
    nfs::check(parameters, &wanted.desired, saved.as_ref())?;
    // What another implementation offers is in the way of this one.
    let saved = match saved {
        Some(saved) if saved.parameters.backend != parameters.backend => {
            take_away(Some(&saved), &saved.parameters, said)?;
            None
        }
        saved => saved,
    };
    let mut copy = match parameters.backend {
        _ if wanted.desired.targets.is_empty() => {
            targets_away(saved.as_ref(), parameters, said)?;
            begin(parameters, &wanted, saved, BTreeMap::new(), BTreeSet::new())?
        }
        Backend::Tgt => tgt::start(parameters, &wanted, saved, &others, said)?,
        Backend::Lio => lio::start(parameters, &wanted, saved, said)?,
    };
    nfs::start(parameters, &wanted.desired, &copy, said)?;
    copy.before.clear();
    Ok(copy.write()?)
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
    let _lock = Lock::wait()?;
    let saved = Saved::read(&parameters.pool)?;
    take_away(saved.as_ref(), parameters, said)
}

/// What was started last goes first.
fn take_away(
    saved: Option<&Saved>,
    parameters: &Parameters,
    said: &mut dyn FnMut(&str),
) -> Result<(), ServiceError> {
    nfs::stop(saved, parameters, said)?;
    targets_away(saved, parameters, said)?;
    Ok(Saved::remove(&parameters.pool)?)
}

/// By the implementation that offers them.
fn targets_away(
    saved: Option<&Saved>,
    parameters: &Parameters,
    said: &mut dyn FnMut(&str),
) -> Result<(), ServiceError> {
    match backend(saved, parameters) {
        Backend::Tgt => tgt::stop(saved, parameters, said),
        Backend::Lio => lio::stop(saved, parameters, said),
    }
}

/// Compares the target with what the pool is to offer, and changes nothing.
pub fn compare(parameters: &Parameters, desired: &Desired) -> Result<Comparison, ServiceError> {
    let saved = Saved::read(&parameters.pool)?;
    let saved = saved.as_ref();
    let of_targets = |saved: Option<&Saved>| saved.is_some_and(|s| !s.desired.targets.is_empty());
    let (sessions, mut pending) = match parameters.backend {
        _ if desired.targets.is_empty() && !of_targets(saved) => Default::default(),
        Backend::Tgt => tgt::compare(parameters, desired, saved)?,
        Backend::Lio => lio::compare(parameters, desired, saved)?,
    };
    let (of_nfs, exported) = nfs::compare(parameters, desired, saved)?;
    pending.extend(of_nfs);
    Ok(Comparison {
        sessions,
        exported,
        pending,
    })
}

/// Who is logged in to each target, and what a start would do.
type Targets = (BTreeMap<String, Vec<String>>, Vec<String>);

/// Whether what was started is still there. The pool is not read: whether it is there, its own
/// resource watches.
pub fn health(parameters: &Parameters) -> Result<Health, ServiceError> {
    let saved = Saved::read(&parameters.pool)?;
    let saved = saved.as_ref();
    let of_nfs = nfs::health(parameters, saved)?;
    let nfs_alone =
        |saved: &Saved| saved.desired.targets.is_empty() && !saved.desired.nfs.is_empty();
    if saved.is_some_and(nfs_alone) {
        let unfinished = saved.is_some_and(|saved| !saved.before.is_empty());
        return Ok(match of_nfs.unwrap_or(Health::Stopped) {
            Health::Running if unfinished => Health::Broken(vec![UNFINISHED.into()]),
            health => health,
        });
    }
    let of_targets = match backend(saved, parameters) {
        Backend::Tgt => tgt::health(parameters, saved),
        Backend::Lio => lio::health(parameters, saved),
    }?;
    Ok(match of_nfs {
        Some(of_nfs) => of_targets.and(of_nfs),
        None => of_targets,
    })
}

const UNFINISHED: &str = "the last start did not end well";

impl Health {
    /// Of targets and of exports by NFS together.
    fn and(self, of_nfs: Self) -> Self {
        let missing = |health, what: &str| match health {
            Self::Running => Vec::new(),
            Self::Stopped => vec![format!("nothing is offered by {what}")],
            Self::Broken(what) => what,
        };
        match (self, of_nfs) {
            (targets, of_nfs) if targets == of_nfs => targets,
            (targets, of_nfs) => {
                let targets = missing(targets, "iSCSI").into_iter();
                Self::Broken(targets.chain(missing(of_nfs, "NFS")).collect())
            }
        }
    }
}

/// What runs now is what was started, whatever is to be started next.
fn backend(saved: Option<&Saved>, parameters: &Parameters) -> Backend {
    saved.map_or(parameters.backend, |saved| saved.parameters.backend)
}

/// Compares what was started with what is missing of it.
fn judged(saved: Option<&Saved>, targets: Vec<String>, missing: Vec<String>) -> Health {
    let Some(saved) = saved else {
        let foreign = |iqn| format!("target {iqn} was not started by hawser");
        return Health::Broken(targets.into_iter().map(foreign).collect());
    };
    match (missing.is_empty(), saved.before.is_empty()) {
        (true, true) => Health::Running,
        (true, false) => Health::Broken(vec![UNFINISHED.into()]),
        (false, _) => Health::Broken(missing),
    }
}

/// Writes down what a start may make, and what is to be remembered of it, before anything is made.
fn begin(
    parameters: &Parameters,
    wanted: &Wanted,
    saved: Option<Saved>,
    marks: BTreeMap<String, Mark>,
    portals: BTreeSet<Portal>,
) -> Result<Saved, ServiceError> {
    let copy = Saved {
        parameters: parameters.clone(),
        desired: wanted.desired.clone(),
        before: saved.map_or(Vec::new(), replaced),
        marks,
        portals,
    };
    copy.write()?;
    remember(parameters, wanted)?;
    Ok(copy)
}

/// Writes what is to be remembered, before a client sees it: a number that a client has seen must be on
/// the disk, or the next head would give out another.
fn remember(parameters: &Parameters, wanted: &Wanted) -> Result<(), ServiceError> {
    if wanted.state != wanted.remembered || !parameters.state().exists() {
        write_whole(&parameters.state(), &wanted.state.to_text(), 0o600)?;
    }
    Ok(())
}

fn foreign_targets(desired: &Desired, others: &[Saved]) -> Result<(), ServiceError> {
    for other in others {
        let mut theirs = other.desired.targets.keys();
        if let Some(iqn) = theirs.find(|iqn| desired.targets.contains_key(*iqn)) {
            return Err(ServiceError::ForeignTarget {
                iqn: iqn.clone(),
                pool: other.parameters.pool.clone(),
            });
        }
    }
    Ok(())
}

/// What was made and may still be there: all of it, when several starts did not end well.
fn replaced(saved: Saved) -> Vec<Desired> {
    let mut all = saved.before;
    if all.last() != Some(&saved.desired) {
        all.push(saved.desired);
    }
    all
}
