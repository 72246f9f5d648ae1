//! How tgtd serves a pool.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use super::accounts::{judge_accounts, marks};
use super::current::{Targets, after, during};
use super::daemon::{Daemon, DaemonError, SOCKET};
use super::instance::Instance;
use super::known::{confirmed, known};
use super::operations::Operation;
use super::plan::{Account, Found, Ours, names, needed, numbers, start, stop};
use crate::exports::host::{Made, StorageIds, open_by};
use crate::exports::service::job::{Job, Purpose};
use crate::exports::service::owned::{Thing, Whose, only_ours};
use crate::exports::service::server::{Looked, Note, Server, ServerStep};
use crate::exports::service::{Said, ServiceError};

/// How long a stop that looks at tgtd waits for each answer. What a stop then takes away may take its time: the storage
/// must close it.
const LOOK: Duration = Duration::from_secs(2);

/// tgtd.
pub struct Tgtd;

/// Where distributions have it.
const PROGRAMS: [&str; 3] = ["/usr/sbin/tgtd", "/sbin/tgtd", "/usr/local/sbin/tgtd"];

impl Server for Tgtd {
    fn service(&self) -> &'static str {
        "tgtd"
    }

    fn lacks(&self) -> Option<String> {
        match Daemon::default().instance() {
            Ok(Some(_)) => None,
            Ok(None) => Some("it does not run (systemctl enable --now tgt)".into()),
            Err(e) => Some(e.to_string()),
        }
    }

    fn ready(&self) -> Result<(), ServiceError> {
        match PROGRAMS.iter().any(|path| Path::new(path).exists()) {
            true => Ok(()),
            false => Err(DaemonError::NotInstalled.into()),
        }
    }

    fn look<'a>(&self, job: &'a Job<'a>) -> Result<Option<Looked<'a>>, ServiceError> {
        let watches = job.purpose == Purpose::Health;
        // Whether tgtd answers is of interest to whom it serves.
        if watches && job.saved.is_none() {
            return Ok(None);
        }
        let daemon = &match job.stops() {
            true => daemon(job).answering_within(LOOK),
            false => daemon(job),
        };
        let Some(tgtd) = daemon.instance()? else {
            return match job.stops() || watches {
                true => Ok(None),
                false => Err(DaemonError::NotRunning(SOCKET.into()).into()),
            };
        };
        // However many clients there are, a monitor takes no longer.
        let targets = confirmed(daemon, known(job, daemon, tgtd)?, !watches)?;
        if watches && targets.is_empty() {
            return Ok(None);
        }
        renumbered(job, &targets)?;
        let mut found = found(job, daemon, targets)?;
        if !watches {
            judge_accounts(job, tgtd, &mut found)?;
        }
        let (desired, ours) = (job.desired(), ours(job, tgtd));
        let operations = match job.purpose {
            _ if job.stops() => stop(&found, &ours),
            Purpose::Started => start(desired, &found, &Ours::of(desired)),
            _ => start(desired, &found, &ours),
        };
        let names = names(&found, &operations);
        let step = |operation: &Operation| {
            let (operation, words) = (operation.clone(), operation.words(&names));
            ServerStep {
                words: vec![words.clone()],
                act: Box::new(move || perform(job, &operation, &words)),
            }
        };
        let mut looked = Looked {
            steps: operations.iter().map(step).collect(),
            ..Looked::default()
        };
        match job.purpose {
            Purpose::Start => looked.note = Some(note(job, tgtd, found, operations)?),
            Purpose::Compare => {
                looked.wrong = not_open(job, tgtd, &found);
                for (iqn, target) in found.targets {
                    looked.sessions.insert(iqn, daemon.initiators(target.tid)?);
                }
            }
            Purpose::Health if operations.is_empty() && !job.unfinished() => {
                looked.wrong = not_open(job, tgtd, &found);
                looked.wrong.extend(deaf(job, &found));
            }
            _ => {}
        }
        Ok(Some(looked))
    }

    /// If need be a tgtd that hangs is ended.
    fn gave_up(
        &self,
        job: &Job<'_>,
        error: ServiceError,
        said: Said<'_>,
    ) -> Result<Option<String>, ServiceError> {
        match error {
            ServiceError::Daemon(error @ DaemonError::Silent { .. }) => match hung(job) {
                None => Ok(Some(error.to_string())),
                Some((pid, Ok(()))) => {
                    said(&format!("tgtd (process {pid}) is ended: {error}"));
                    Ok(None)
                }
                Some((pid, Err(why))) => Ok(Some(format!("{error}; end process {pid}: {why}"))),
            },
            ServiceError::Daemon(error @ (DaemonError::NotRunning(_) | DaemonError::Io(_))) => {
                Ok(Some(error.to_string()))
            }
            error => Err(error),
        }
    }
}

fn daemon(job: &Job<'_>) -> Daemon {
    job.here.daemon.until(job.until)
}

fn renumbered(job: &Job<'_>, targets: &Targets) -> Result<(), ServiceError> {
    for (iqn, target) in targets.iter().filter(|_| job.purpose == Purpose::Start) {
        for (lun, unit) in &target.units {
            let now = [&*unit.serial, &unit.identity, &unit.path];
            job.same_volume(iqn, *lun, now, || Ok(!target.sessions.is_empty()))?;
        }
    }
    Ok(())
}

/// What tgtd has; accounts as if their secrets were right.
fn found(job: &Job<'_>, daemon: &Daemon, targets: Targets) -> Result<Found, ServiceError> {
    let mut taken = BTreeSet::new();
    let wanted = job.desired().targets.keys();
    for iqn in wanted.filter(|iqn| !targets.contains_key(*iqn)) {
        for tid in numbers(iqn) {
            if !taken.contains(&tid) && !daemon.has_target(tid)? {
                break;
            }
            taken.insert(tid);
        }
    }
    let accounts = daemon.accounts()?.into_iter();
    let mut found = Found {
        targets,
        taken,
        portals: daemon.portals()?,
        accounts: accounts.map(|user| (user, Account::Same)).collect(),
        ..Found::default()
    };
    for other in job.others()? {
        // A start of another pool that was killed may have left what it had before.
        let made = other.starts().flat_map(|made| made.accounts().into_keys());
        found.others_accounts.extend(made);
        found.others_portals.extend(&other.portals);
        found.others_portals.extend(needed(&other.desired));
    }
    Ok(found)
}

/// Accounts and portals that this pool has made: by its copy. What another tgtd was told is not in this one.
fn ours(job: &Job<'_>, tgtd: Instance) -> Ours {
    let Some(saved) = job.saved.filter(|saved| saved.is_of(tgtd)) else {
        return Ours::default();
    };
    let accounts = saved.starts().flat_map(|made| made.accounts().into_keys());
    Ours {
        accounts: accounts.collect(),
        portals: saved.portals.clone(),
    }
}

fn perform(job: &Job<'_>, operation: &Operation, what: &str) -> Result<(), ServiceError> {
    let secret = match operation {
        Operation::NewAccount { secret, .. } => job.secrets.get(secret),
        _ => None,
    };
    let secret = secret.map_or("", String::as_str);
    match (daemon(job).perform(operation, secret, what), operation) {
        (Err(DaemonError::Foreign { .. }), Operation::NewTarget { iqn, .. }) => {
            let (iqn, of) = (iqn.clone(), "tgtd");
            Ok(only_ours(Thing::Target { iqn, of }, Some(Whose::Unknown))?)
        }
        (done, _) => Ok(done?),
    }
}

/// What a copy must say while these operations are done, and when they were.
fn note<'a>(
    job: &'a Job<'a>,
    tgtd: Instance,
    found: Found,
    operations: Vec<Operation>,
) -> Result<Note<'a>, ServiceError> {
    let (marks, desired) = (marks(job)?, job.desired());
    let mut portals = ours(job, tgtd).portals;
    // What another pool has opened, and this one needs too, belongs to both: the last one closes it.
    let needed = needed(desired);
    let others = job.others()?.into_iter().flat_map(|other| other.portals);
    portals.extend(others.filter(|portal| needed.contains(portal)));
    portals.retain(|portal| found.portals.contains(portal));
    portals.extend(operations.iter().filter_map(|operation| match operation {
        Operation::NewPortal { portal } => Some(*portal),
        _ => None,
    }));
    Ok(Box::new(move |copy, done| {
        let closed = |portal| operations.contains(&Operation::DeletePortal { portal });
        let kept = portals.iter().filter(|portal| !done || !closed(**portal));
        let targets = match done {
            true => after(&found.targets, &operations, desired),
            false => during(&found.targets, &operations, desired),
        };
        copy.marks.clone_from(&marks);
        copy.portals = kept.copied().collect();
        copy.made = Some(Made {
            instance: tgtd,
            targets,
        });
    }))
}

/// Volumes that this tgtd does not have open, although a unit of its is there: somebody put another in its place.
fn not_open(job: &Job<'_>, tgtd: Instance, found: &Found) -> Vec<String> {
    let Some(saved) = job.saved else {
        return Vec::new();
    };
    let targets = found.targets.values();
    let units = targets.flat_map(|target| target.units.values());
    let place = |path: &String| Some((*saved.volumes.get(path)?, path.clone()));
    let places: StorageIds = units.filter_map(|unit| place(&unit.path)).collect();
    let open = open_by(tgtd.pid, &places);
    let closed = places.iter().filter(|(place, _)| !open.contains(place));
    closed
        .map(|(_, path)| format!("tgtd does not have {path} open"))
        .collect()
}

/// A portal of the pool at which no client is answered.
fn deaf(job: &Job<'_>, found: &Found) -> Option<String> {
    let desired = job.desired();
    let mut wanted = needed(desired);
    wanted.extend(desired.targets.values().flat_map(|t| &t.portals));
    let portal = found.portals.iter().find(|it| wanted.contains(it))?;
    let error = (job.here.login)(*portal, job.until?).err()?;
    Some(format!("no client can log in at {portal}: {error}"))
}

/// Ends the tgtd in which the pool was started, if it still has a volume of the pool open; its number, and
/// what came of it.
///
/// A tgtd that does not answer serves nobody, and its pools can go nowhere else while it may write to them: the
/// other way is to shoot the head. What it has acknowledged is in the kernel's cache, which outlives it.
fn hung(job: &Job<'_>) -> Option<(i32, std::io::Result<()>)> {
    let saved = job.saved?;
    let instance = saved.made.as_ref()?.instance;
    let holds = instance.runs() && !open_by(instance.pid, &saved.places()).is_empty();
    holds.then(|| (instance.pid, (job.here.end)(instance)))
}
