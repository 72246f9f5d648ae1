//! Starting, stopping and looking at the exports of a pool on this host.
//!
//! A start is all or nothing: what is wrong is found before the target is touched, and afterwards the
//! target is read again and compared with what was wanted. Whatever a start may have made is written
//! down before it is made, so that a stop knows it even if the start was killed. A stop that succeeds has seen
//! that nobody on this host has anything of the pool open.

mod accounts;
mod change;
mod health;
mod here;
mod known;
mod lio;
mod nfs;
mod owned;
mod seen;
mod start;
#[cfg(test)]
mod tests;
mod tgt;

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use hawser_files::{Expected, FileError, Folder};
use hawser_model::cluster_file::Backend;
use hawser_tool::Deadline;

use super::broken::BrokenExports;
use super::desired::Desired;
use super::file::{self, ExportsFile};
use super::host::{
    Change, DirectoriesError, Lock, LockError, Look, Parameters, Saved, SavedError, SecretError,
    VolumesError, find_directories, find_volumes, mounted,
};
use super::lio::{ConfigfsError, KernelError};
use super::nfs::server::NfsError;
use super::nfs::{Found, apart, resolve as resolve_nfs, shared};
use super::resolve::{ExportsError, Resolved, resolve};
use super::state::{State, StateError};
use super::tgt::DaemonError;
pub use change::{start, stop};
use hawser_model::toml_file::FileErrors;
pub use health::{Health, health};
use here::Here;
pub use owned::Foreign;

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
    OnDisk(#[from] FileError),
    #[error(transparent)]
    Foreign(#[from] Foreign),
    #[error("pool {pool} is still served on this host: {}", .holders.join("; "))]
    Served { pool: String, holders: Vec<String> },
    #[error(
        "clients use LUN {lun} of {iqn}, which is {now}, and it would become {then}: they would go on writing to it; \
         restore exports-state.toml, or log them out (stop and start)"
    )]
    Renumbered {
        iqn: String,
        lun: u16,
        now: String,
        then: String,
    },
    #[error(
        "tgtd (process {pid}) has {path} open, and it cannot be told whether its target is {iqn}, since no number was \
         written down: find it with tgtadm --op show --mode target, take it away by hand, then again"
    )]
    Unproven { iqn: String, path: String, pid: i32 },
    #[error(
        "the exports of pool {} are being changed by process {} for {} s now: wait for it",
        .0.pool, .0.pid, .0.seconds
    )]
    Changing(Change),
    #[error("{path} and what belongs to it changed each time it was read: try again")]
    Restless { path: String },
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
    let pool = Folder::open(root)?;
    let read = |name: &str| pool.read_text(name.as_ref(), Expected::OF_ROOT);
    let text = read(Parameters::FILE)?.ok_or_else(|| ServiceError::NoFile {
        path: path.display().to_string(),
    })?;
    let shown = path.display().to_string();
    let file: ExportsFile =
        file::parse(&text, &shown).map_err(|errors| ServiceError::File(Box::new(errors)))?;
    let state_path = parameters.state();
    let remembered = match read(Parameters::STATE)? {
        Some(text) => State::parse(&text, &state_path.display().to_string())?,
        None => State::default(),
    };
    let wrong = |errors| ServiceError::Exports {
        path: shown.clone(),
        errors,
    };
    let directories = find_directories(parameters, &file).map_err(|error| match error {
        DirectoriesError::Exports(error) => wrong(vec![error]),
        error => error.into(),
    })?;
    let volumes = find_volumes(parameters, &mount, &|name| shared(&directories, name))?;
    let volumes = apart(&file, volumes, &directories).map_err(wrong)?;
    // What is being served is known as well, whatever became of the file.
    let served = Saved::read(&parameters.pool)?;
    let known = remembered.with(served.as_ref().map(|saved| &saved.desired));
    let resolved = resolve(&file, &volumes, &known, &parameters.context());
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

/// Compares the target with what the pool is to offer, and changes nothing.
pub fn compare(parameters: &Parameters, desired: &Desired) -> Result<Comparison, ServiceError> {
    let mut here = Here::default();
    let _lock = quiet(&here)?;
    // Whoever looks keeps changes away meanwhile, a stop among them.
    here.daemon = here.daemon.until(Deadline::after(Duration::from_secs(5)));
    let saved = Saved::read_in(&here.folder, &parameters.pool)?;
    let saved = saved.as_ref();
    let of_targets = |saved: Option<&Saved>| saved.is_some_and(|s| !s.desired.targets.is_empty());
    let (sessions, mut pending) = match parameters.backend {
        _ if desired.targets.is_empty() && !of_targets(saved) => Default::default(),
        Backend::Tgt => tgt::compare(&here, parameters, desired, saved)?,
        Backend::Lio => lio::compare(&here, parameters, desired, saved)?,
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

/// Waits for a change that is under way, so that its middle is not taken for its end.
fn quiet(here: &Here) -> Result<Option<Lock>, ServiceError> {
    let mut under_way = Change::default();
    let quiet = Deadline::after(CHANGE).ask(LOOK_AGAIN, || match Lock::share(&here.folder)? {
        Look::Quiet(lock) => Ok(Some(lock)),
        Look::Changing(change) => {
            under_way = change;
            Ok::<_, ServiceError>(None)
        }
    })?;
    quiet.ok_or(ServiceError::Changing(under_way))
}

/// How long a change may take before somebody who looks gives up.
const CHANGE: Duration = Duration::from_secs(60);

/// How long who waits for somebody else pauses before the next look.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// An error of a call.
fn io(call: &'static str, path: impl AsRef<Path>) -> impl FnOnce(std::io::Error) -> ServiceError {
    let path = path.as_ref().display().to_string();
    move |source| ServiceError::Io { call, path, source }
}
