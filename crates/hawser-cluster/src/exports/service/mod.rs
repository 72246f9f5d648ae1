//! Starting, stopping and looking at the exports of a pool on this host.
//!
//! A start is all or nothing: what is wrong is found before the target is touched, and afterwards the
//! target is read again and compared with what was wanted. Whatever a start may have made is written
//! down before it is made, so that a stop knows it even if the start was killed. A stop that succeeds has seen
//! that nobody on this host has anything of the pool open.

mod health;
pub(super) mod here;
pub(super) mod job;
pub mod keep;
pub(super) mod owned;
mod seen;
pub(crate) mod server;
mod start_stop;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::time::Duration;

use hawser_files::{Expected, FileError, Folder};
use hawser_tool::Deadline;

use super::broken::BrokenExports;
use super::desired::Desired;
use super::file::{self, ExportsFile};
use super::host::{
    Change, DirectoriesError, KEPT, Lock, Look, Parameters, Saved, SavedError, SecretError,
    VolumesError, find_directories, find_volumes, mounted,
};
use super::lio::reservations::{self, Reservations, ReservationsError};
use super::lio::{ConfigfsError, KernelError};
use super::nfs::reclaim::Record;
use super::nfs::server::NfsError;
use super::nfs::{Found, also_disks, resolve as resolve_nfs};
use super::resolve::{ExportsError, Resolved, resolve};
use super::state::{State, StateError};
use super::tgt::DaemonError;
use hawser_model::cluster_file::Backend;
use hawser_model::toml_file::FileErrors;
pub use health::{Health, LOOK, health};
use here::Here;
use job::{Job, Purpose};
pub use owned::Foreign;
use server::{NFS, iscsi};
pub use start_stop::{start, stop};

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
    #[error("{path}: the kernel takes a secret that begins with NULL as no secret: choose another")]
    NullSecret { path: String },
    #[error("pool {pool} is not here: nothing is mounted at {root}")]
    NotMounted { pool: String, root: String },
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
    Reservations(#[from] ReservationsError),
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
    /// Who may reclaim locks of what it offers by NFS, or why that cannot be read.
    clients: Result<Record, String>,
    /// What clients have registered of its units.
    reservations: Reservations,
}

/// What hears each thing that is done.
pub type Said<'a> = &'a mut dyn FnMut(&str);

/// The target as it is, beside what it is to have.
#[derive(Clone, Debug, Default)]
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
    let not_mounted = || ServiceError::NotMounted {
        pool: parameters.pool.clone(),
        root: root.display().to_string(),
    };
    let mount = match mounted(root) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Err(not_mounted()),
        outcome => outcome.map_err(FileError::io("look at the mounts at", root))?,
    };
    let mount = mount.ok_or_else(not_mounted)?;
    let path = parameters.file();
    let pool = Folder::open(root)?;
    let read = |name: &str, expected| pool.read_text(name.as_ref(), expected);
    let text = read(Parameters::FILE, Expected::OF_ROOT)?.ok_or_else(|| ServiceError::NoFile {
        path: path.display().to_string(),
    })?;
    let shown = path.display().to_string();
    let file: ExportsFile =
        file::parse(&text, &shown).map_err(|errors| ServiceError::File(Box::new(errors)))?;
    let state_path = parameters.state();
    let remembered = match read(Parameters::STATE, KEPT)? {
        Some(text) => State::parse(&text, &state_path.display().to_string())?,
        None => State::default(),
    };
    let wrong = |errors| ServiceError::Exports {
        path: shown.clone(),
        errors,
    };
    let directories = find_directories(parameters, &mount, &file).map_err(|error| match error {
        DirectoriesError::Exports(error) => wrong(vec![error]),
        error => error.into(),
    })?;
    if parameters.has_files(&mount) {
        let errors = also_disks(&file);
        if !errors.is_empty() {
            return Err(wrong(errors));
        }
    }
    let volumes = match file.is_nfs_only() {
        true => Vec::new(),
        false => find_volumes(parameters, &mount, &file)?,
    };
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
    let nfs = resolve_nfs(&file, &directories, &mut state, &parameters.pool);
    desired.nfs = nfs.map_err(|error| wrong(vec![error]))?;
    let clients = match read(Record::FILE, Expected::OF_ROOT) {
        Ok(text) => text.map_or(Ok(Record::default()), |text| Record::parse(&text)),
        Err(error) => Err(error.to_string()),
    };
    // No other back end has any that persist.
    let units = desired.units.keys();
    let units = units.filter(|_| parameters.backend == Backend::Lio);
    let reservations = reservations::read(root, units)?;
    Ok(Wanted {
        desired,
        state,
        remembered,
        clients,
        reservations,
    })
}

/// Compares the target with what the pool is to offer, and changes nothing.
pub fn compare(parameters: &Parameters, desired: &Desired) -> Result<Comparison, ServiceError> {
    let here = Here::default();
    // The middle of a change that is under way is not taken for its end.
    let _lock = match Lock::share_by(Deadline::after(CHANGE), &here.folder, |_| true)? {
        Look::Quiet(lock) => lock,
        Look::Changing(change) => return Err(ServiceError::Changing(change)),
    };
    let saved = Saved::read_in(&here.folder, &parameters.pool)?;
    let saved = saved.as_ref();
    let job = Job::new(&here, parameters, Purpose::Compare, saved, Some(desired))?;
    let mut comparison = Comparison::default();
    let known = [Some(desired), saved.map(|saved| &saved.desired)];
    if known.into_iter().flatten().any(|it| !it.targets.is_empty()) {
        server::compare(iscsi(parameters.backend), &job, &mut comparison)?;
    }
    server::compare(NFS, &job, &mut comparison)?;
    Ok(comparison)
}

/// How long a change may take before somebody who looks gives up.
const CHANGE: Duration = Duration::from_secs(60);
