//! Whether what was started is still there.

use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use hawser_tool::Deadline;

use super::ServiceError;
use super::here::Here;
use super::job::{Job, Purpose};
use super::seen::{self, Scope};
use super::server::{self, NFS, iscsi};
use crate::exports::desired::Desired;
use crate::exports::host::{Change, Lock, Look, Parameters, Saved};
use crate::exports::nfs;

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

/// How long a look may take as a whole, unless somebody says otherwise; the monitor gets as long.
pub const LOOK: Duration = Duration::from_secs(6);

/// How long who looks waits for an answer of a server. With a look every 2 s, a target that hangs is noticed within 5 s.
fn server(whole: Duration) -> Duration {
    whole * 5 / 12
}

/// How long who looks waits for the storage. Disks under load may take seconds for a read, and a pool that is moved for
/// that reason is moved under load.
fn storage(whole: Duration) -> Duration {
    whole * 3 / 4
}

/// How long a change of another pool is waited for.
const ANOTHER: Duration = Duration::from_secs(1);

/// How long a change may be under way before it counts as one that hangs, in seconds.
const LONGEST_CHANGE: u64 = 120;

pub(super) const UNFINISHED: &str = "the last start did not end well";

/// Whether what was started is still there. The pool is not read: whether it is there, its own
/// resource watches. What does not answer is given up in time for a look that may take so long as a whole.
pub fn health(parameters: &Parameters, whole: Duration) -> Result<Health, ServiceError> {
    health_on(&Here::default(), parameters, whole)
}

/// The same on a host. While a start changes what this pool offers, that it runs is taken from its copy: the
/// middle of a change is no failure.
pub(super) fn health_on(
    here: &Here,
    parameters: &Parameters,
    whole: Duration,
) -> Result<Health, ServiceError> {
    let pool = &parameters.pool;
    // A pool that hangs is not read under the lock.
    let all = match Saved::read_in(&here.folder, pool)? {
        Some(_) => None,
        None => Some(Scope::of_pool(parameters)?),
    };
    // What is done to another pool changes nothing of this one, so it is not waited for to its end.
    let another = |change: &Change| change.pool != *pool;
    let lock = match Lock::share_by(Deadline::after(ANOTHER), &here.folder, another)? {
        Look::Quiet(lock) => lock,
        Look::Changing(change) if another(&change) => None,
        Look::Changing(change) => {
            // One that was killed may have left its words to the next.
            let lives = Path::new("/proc").join(change.pid.to_string()).exists();
            if lives && change.seconds > LONGEST_CHANGE {
                let (pid, seconds) = (change.pid, change.seconds);
                let what = format!("process {pid} has been changing the exports for {seconds} s");
                return Ok(Health::Broken(vec![what]));
            }
            return by_copy(here, pool);
        }
    };
    let saved = Saved::read_in(&here.folder, pool)?;
    let saved = saved.as_ref();
    let until = Deadline::after(storage(whole));
    let told = asked(here, parameters, saved, whole)?;
    if let (Health::Running, Some(saved)) = (&told, saved) {
        // A disk may take seconds, and a stop of any pool would wait for all who look.
        drop(lock);
        return answers(here, saved, until);
    }
    if told != Health::Stopped {
        return Ok(told);
    }
    // Nobody who was asked offers anything; whether that is so is seen.
    let scope = match (saved, all) {
        (Some(saved), _) => Scope::of(saved, parameters),
        (None, Some(all)) => Scope {
            of_zfs: nfs::server::shared_by_zfs(),
            ..all
        },
        // It was stopped a moment ago, and that stop has looked.
        (None, None) => return Ok(Health::Stopped),
    };
    let holders = seen::look(here, &scope)?;
    Ok(match holders.is_empty() {
        true => Health::Stopped,
        false => Health::Broken(holders),
    })
}

/// While somebody changes what a pool offers.
fn by_copy(here: &Here, pool: &str) -> Result<Health, ServiceError> {
    Ok(match Saved::read_in(&here.folder, pool)? {
        Some(_) => Health::Running,
        None => Health::Stopped,
    })
}

/// Whether the storage of what runs answers. Changes may be made meanwhile.
fn answers(here: &Here, saved: &Saved, until: Deadline) -> Result<Health, ServiceError> {
    let Some(what) = dead(here, saved, until) else {
        return Ok(Health::Running);
    };
    let pool = &saved.parameters.pool;
    match Saved::read_in(&here.folder, pool)?.as_ref() == Some(saved) {
        true => Ok(Health::Broken(vec![what])),
        false => by_copy(here, pool),
    }
}

/// What those say who offer it.
fn asked(
    here: &Here,
    parameters: &Parameters,
    saved: Option<&Saved>,
    whole: Duration,
) -> Result<Health, ServiceError> {
    let started = saved.map(|saved| &saved.desired);
    let job = Job {
        until: Some(Deadline::after(server(whole))),
        ..Job::new(here, parameters, Purpose::Health, saved, started)?
    };
    let offers = |what: fn(&Desired) -> bool| started.is_none_or(what);
    let by_nfs = offers(|it| !it.nfs.is_empty());
    let mut all = Vec::new();
    if !by_nfs || offers(|it| !it.targets.is_empty()) {
        all.push(("iSCSI", server::health(iscsi(job.backend()), &job)?));
    }
    if by_nfs {
        all.push(("NFS", server::health(NFS, &job)?));
    }
    Ok(Health::of(all))
}

/// What of the pool cannot be read. One volume is asked, since they lie on the same storage; a pool without volumes, which offers
/// directories, has its file of exports read.
fn dead(here: &Here, saved: &Saved, until: Deadline) -> Option<String> {
    let unit = saved.desired.units.values().next();
    let path = unit.map_or_else(|| saved.parameters.file(), |unit| unit.path.clone().into());
    let error = (here.read)(&path, until).err()?;
    let why = match error.kind() {
        ErrorKind::TimedOut => "its storage does not answer".to_owned(),
        _ => error.to_string(),
    };
    Some(format!("{} cannot be read: {why}", path.display()))
}

impl Health {
    /// Of all servers together, each with what it offers by.
    fn of(all: Vec<(&str, Self)>) -> Self {
        for same in [Self::Running, Self::Stopped] {
            if all.iter().all(|(_, health)| *health == same) {
                return same;
            }
        }
        let mut missing = Vec::new();
        for (what, health) in all {
            let said = match health {
                Self::Running => Vec::new(),
                Self::Stopped => vec![format!("nothing is offered by {what}")],
                Self::Broken(what) => what,
            };
            let new = |said: &String| !missing.contains(said);
            let said: Vec<String> = said.into_iter().filter(new).collect();
            missing.extend(said);
        }
        Self::Broken(missing)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    #[test]
    fn a_pool_without_volumes_has_its_file_of_exports_read() {
        let saved = Saved {
            parameters: Parameters::of("tank"),
            desired: Desired::default(),
            before: Vec::new(),
            marks: BTreeMap::new(),
            portals: BTreeSet::new(),
            made: None,
            volumes: BTreeMap::new(),
        };
        let here = Here {
            read: Box::new(|_, _| Err(ErrorKind::TimedOut.into())),
            ..Here::default()
        };
        let said = dead(&here, &saved, Deadline::after(LOOK)).unwrap();
        assert_eq!(
            said,
            "/tank/exports.toml cannot be read: its storage does not answer"
        );
    }
}
