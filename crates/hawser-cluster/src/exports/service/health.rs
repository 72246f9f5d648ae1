//! Whether what was started is still there.

use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use hawser_model::cluster_file::Backend;
use hawser_tool::Deadline;

use super::change::backend;
use super::here::Here;
use super::seen::{self, Scope};
use super::{LOOK_AGAIN, ServiceError, lio, nfs, tgt};
use crate::exports::desired::Desired;
use crate::exports::host::{Lock, Look, Parameters, Saved};

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

/// How long who looks waits for an answer. With a look every 2 s, a target that hangs is noticed within 5 s.
pub(super) const PATIENCE: Duration = Duration::from_millis(2500);

/// How long who looks waits for the storage. Disks under load may take seconds for a read, and a pool that is moved for
/// that reason is moved under load. The monitor as a whole may take 6 s (`cib/pools.rs`).
const STORAGE: Duration = Duration::from_millis(4500);

/// How long a change of another pool is waited for.
const ANOTHER: Duration = Duration::from_secs(1);

/// How long a change may be under way before it counts as one that hangs, in seconds.
const LONGEST_CHANGE: u64 = 120;

pub(super) const UNFINISHED: &str = "the last start did not end well";

/// Whether what was started is still there. The pool is not read: whether it is there, its own
/// resource watches.
pub fn health(parameters: &Parameters) -> Result<Health, ServiceError> {
    health_on(&Here::default(), parameters)
}

/// The same on a host. While a start changes what this pool offers, that it runs is taken from its copy: the
/// middle of a change is no failure.
pub(super) fn health_on(here: &Here, parameters: &Parameters) -> Result<Health, ServiceError> {
    let pool = &parameters.pool;
    // A pool that hangs is not read under the lock.
    let all = match Saved::read_in(&here.folder, pool)? {
        Some(_) => None,
        None => Some(Scope::of_pool(parameters)?),
    };
    // What is done to another pool changes nothing of this one, so it is not waited for to its end.
    let another = |look: &Look| matches!(look, Look::Changing(change) if change.pool != *pool);
    let look = Deadline::after(ANOTHER).ask(LOOK_AGAIN, || {
        Lock::share(&here.folder).map(|look| Some(look).filter(|look| !another(look)))
    })?;
    let _lock = match look {
        Some(Look::Changing(change)) => {
            // One that was killed may have left its words to the next.
            let lives = Path::new("/proc").join(change.pid.to_string()).exists();
            if lives && change.seconds > LONGEST_CHANGE {
                let (pid, seconds) = (change.pid, change.seconds);
                let what = format!("process {pid} has been changing the exports for {seconds} s");
                return Ok(Health::Broken(vec![what]));
            }
            return Ok(match Saved::read_in(&here.folder, pool)? {
                Some(_) => Health::Running,
                None => Health::Stopped,
            });
        }
        Some(Look::Quiet(lock)) => lock,
        None => None,
    };
    let saved = Saved::read_in(&here.folder, pool)?;
    let saved = saved.as_ref();
    let told = asked(here, parameters, saved)?;
    if told != Health::Stopped {
        return Ok(told);
    }
    // Nobody who was asked offers anything; whether that is so is seen.
    let scope = match (saved, all) {
        (Some(saved), _) => Scope::of(saved, parameters),
        (None, Some(all)) => all,
        // It was stopped a moment ago, and that stop has looked.
        (None, None) => return Ok(Health::Stopped),
    };
    let holders = seen::look(here, &scope)?;
    Ok(match holders.is_empty() {
        true => Health::Stopped,
        false => Health::Broken(holders),
    })
}

/// What those say who offer it.
fn asked(
    here: &Here,
    parameters: &Parameters,
    saved: Option<&Saved>,
) -> Result<Health, ServiceError> {
    let until = Deadline::after(STORAGE);
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
        Backend::Tgt => tgt::health(here, parameters, saved),
        Backend::Lio => lio::health(here, parameters, saved),
    }?;
    let of_targets = match (of_targets, saved) {
        (Health::Running, Some(saved)) => match dead(here, &saved.desired, until) {
            Some(what) => Health::Broken(vec![what]),
            None => Health::Running,
        },
        (other, _) => other,
    };
    Ok(match of_nfs {
        Some(of_nfs) => of_targets.and(of_nfs),
        None => of_targets,
    })
}

/// A volume of the pool that cannot be read. One is asked: they lie on the same storage.
fn dead(here: &Here, desired: &Desired, until: Deadline) -> Option<String> {
    let unit = desired.units.values().next()?;
    let error = (here.read)(Path::new(&unit.path), until).err()?;
    let why = match error.kind() {
        ErrorKind::TimedOut => "its storage does not answer".to_owned(),
        _ => error.to_string(),
    };
    Some(format!("{} cannot be read: {why}", unit.path))
}

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
