//! Starting, stopping and looking at the exports of a pool on this host.
//!
//! A start is all or nothing: what is wrong is found before the target is touched, and afterwards the
//! target is read again and compared with what was wanted. Whatever a start may have made is written
//! down before it is made, so that a stop knows it even if the start was killed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;

use hawser_model::cluster_file::Backend;

use super::desired::Desired;
use super::file::{self, ExportsFile};
use super::host::{
    Lock, LockError, Mark, Parameters, Saved, SavedError, SecretError, VolumesError, WriteError,
    find_volumes, mounted, read_secret, write_whole,
};
use super::resolve::{ExportsError, Resolved, resolve};
use super::rules::BrokenExports;
use super::state::{State, StateError};
use super::tgt::{self, Account, Daemon, DaemonError, Found, Operation, Ours};
use hawser_model::toml_file::FileErrors;

/// Why it could not be done.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the message says it")]
pub enum ServiceError {
    #[error(
        "the back end \"lio\" is not in this version of hawser: write backend = \"tgt\" under [exports] of hawser.toml"
    )]
    NoLio,
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
    #[error("tgtd took everything and still has not: {}", .0.join("; "))]
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

/// What the target has, beside what it is to have.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// What the target has.
    pub found: Found,
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
    let volumes = find_volumes(parameters, &mount)?;
    let Resolved { desired, state } = resolve(&file, &volumes, &remembered, &parameters.context())
        .map_err(|errors| ServiceError::Exports {
            path: shown,
            errors,
        })?;
    Ok(Wanted {
        desired,
        state,
        remembered,
    })
}

/// Makes the target offer what the pool is to offer. `said` hears what is done, in words.
pub fn start(parameters: &Parameters, said: &mut dyn FnMut(&str)) -> Result<(), ServiceError> {
    if parameters.backend == Backend::Lio {
        return Err(ServiceError::NoLio);
    }
    let _lock = Lock::wait()?;
    let wanted = wanted(parameters)?;
    let desired = &wanted.desired;
    let saved = Saved::read(&parameters.pool)?;
    let others = Saved::others(&parameters.pool)?;
    let secrets = secrets(desired)?;
    let daemon = Daemon::default();
    let ours = ours(saved.as_ref(), parameters, &daemon)?;
    let found = look(&daemon, &others)?;
    let marks = marks(&secrets, saved.as_ref())?;
    let found = judge_accounts(found, &secrets, saved.as_ref(), &others)?;
    foreign_targets(desired, &others)?;

    let operations = tgt::start(desired, &found, &ours);
    let portals = new_portals(&operations);
    let kept = ours.portals.union(&portals).copied().collect();
    let mut copy = Saved {
        parameters: parameters.clone(),
        desired: desired.clone(),
        before: saved.map_or(Vec::new(), replaced),
        marks,
        portals: kept,
    };
    copy.write()?;
    // A number that a client has seen must be on the disk: the next head would give out another.
    if wanted.state != wanted.remembered || !parameters.state().exists() {
        write_whole(&parameters.state(), &wanted.state.to_text(), 0o600)?;
    }
    perform(&daemon, &operations, &found, &secrets, said)?;

    let found = judge_accounts(look(&daemon, &others)?, &secrets, Some(&copy), &others)?;
    let left = tgt::start(desired, &found, &Ours::of(desired));
    if !left.is_empty() {
        return Err(ServiceError::NotTaken(words(&left, &found)));
    }
    copy.before.clear();
    copy.portals.retain(|portal| found.portals.contains(portal));
    Ok(copy.write()?)
}

/// Takes everything of the pool away from the target, also when the pool is gone.
pub fn stop(parameters: &Parameters, said: &mut dyn FnMut(&str)) -> Result<(), ServiceError> {
    let _lock = Lock::wait()?;
    let saved = Saved::read(&parameters.pool)?;
    let daemon = Daemon::default();
    // A target that does not run offers nothing, and will not when it is started again.
    if daemon.runs() {
        let others = Saved::others(&parameters.pool)?;
        let mut ours = ours(saved.as_ref(), parameters, &daemon)?;
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
        if !left.is_empty() {
            return Err(ServiceError::NotTaken(words(&left, &found)));
        }
    }
    Ok(Saved::remove(&parameters.pool)?)
}

/// Compares the target with what the pool is to offer, and changes nothing.
pub fn compare(parameters: &Parameters, desired: &Desired) -> Result<Comparison, ServiceError> {
    if parameters.backend == Backend::Lio {
        return Err(ServiceError::NoLio);
    }
    let saved = Saved::read(&parameters.pool)?;
    let others = Saved::others(&parameters.pool)?;
    let secrets = secrets(desired)?;
    let daemon = Daemon::default();
    let ours = ours(saved.as_ref(), parameters, &daemon)?;
    let found = judge_accounts(look(&daemon, &others)?, &secrets, saved.as_ref(), &others)?;
    let operations = tgt::start(desired, &found, &ours);
    let pending = words(&operations, &found);
    Ok(Comparison { found, pending })
}

/// Whether what was started is still there. The pool is not read: whether it is there, its own
/// resource watches.
pub fn health(parameters: &Parameters) -> Result<Health, ServiceError> {
    let daemon = Daemon::default();
    if !daemon.runs() {
        return Ok(Health::Stopped);
    }
    let saved = Saved::read(&parameters.pool)?;
    let others = Saved::others(&parameters.pool)?;
    let found = look(&daemon, &others)?;
    let ours = ours(saved.as_ref(), parameters, &daemon)?;
    if !ours
        .targets
        .iter()
        .any(|iqn| found.targets.contains_key(iqn))
    {
        return Ok(Health::Stopped);
    }
    let Some(saved) = saved else {
        let targets = ours.targets.into_iter();
        return Ok(Health::Broken(
            targets
                .map(|iqn| format!("target {iqn} was not started by hawser"))
                .collect(),
        ));
    };
    let missing = tgt::start(&saved.desired, &found, &ours);
    match (missing.is_empty(), saved.before.is_empty()) {
        (true, true) => Ok(Health::Running),
        (true, false) => Ok(Health::Broken(vec![
            "the last start did not end well".into(),
        ])),
        (false, _) => Ok(Health::Broken(words(&missing, &found))),
    }
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
        let own = parameters.context().iqn(&parameters.pool);
        let below = format!("{own}:");
        let there = daemon.targets()?.into_keys();
        return Ok(Ours {
            targets: there
                .filter(|iqn| *iqn == own || iqn.starts_with(&below))
                .collect(),
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

fn new_portals(operations: &[Operation]) -> BTreeSet<super::Portal> {
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
