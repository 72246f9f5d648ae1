//! How the kernel's target serves a pool.

use std::collections::{BTreeMap, BTreeSet};

use hawser_model::cluster_file::SecretRef;
use hawser_model::visible::one_line;
use sha2::{Digest as _, Sha256};

use super::configfs::Configfs;
use super::entries::{Digest, WantedEntry, backstore, entries};
use super::kernel::{lacking, ready};
use super::plan::{Tree, others_company, plan};
use super::reservations::Files;
use super::words::lines;
use crate::exports::host::Saved;
use crate::exports::service::ServiceError;
use crate::exports::service::job::{Job, Purpose};
use crate::exports::service::owned::{Thing, Whose, only_ours};
use crate::exports::service::server::{Looked, Server, ServerStep};

/// The kernel's target.
pub struct Lio;

impl Server for Lio {
    fn service(&self) -> &'static str {
        "the kernel's iSCSI target"
    }

    /// What is not loaded yet can be.
    fn lacks(&self) -> Option<String> {
        lacking().map(|why| why.to_string())
    }

    fn ready(&self) -> Result<(), ServiceError> {
        Ok(ready()?)
    }

    fn look<'a>(&self, job: &'a Job<'a>) -> Result<Option<Looked<'a>>, ServiceError> {
        let configfs = &job.here.configfs;
        if job.purpose == Purpose::Compare {
            self.ready()?;
        }
        let ours = ours(job, configfs)?;
        refuse(job, configfs, &ours)?;
        let found = configfs.look(&job.parameters.pool, &ours)?;
        let there = targets(&found);
        if job.purpose == Purpose::Health && (job.saved.is_none() || there.is_empty()) {
            return Ok(None);
        }
        let wanted = wanted(job);
        let operations = plan(&wanted, &found, &stale(job, &wanted, &found));
        let lines = lines(&operations, &names(job));
        let steps = operations
            .into_iter()
            .zip(lines)
            .map(|(operation, words)| ServerStep {
                words: words.into_iter().collect(),
                act: Box::new(move || Ok(configfs.perform(&operation, &job.secrets)?)),
            });
        let mut looked = Looked {
            steps: steps.collect(),
            ..Looked::default()
        };
        // Before a unit is made, and after it is gone.
        let at = if job.stops() { looked.steps.len() } else { 0 };
        looked.steps.splice(at..at, persistent(job, &found)?);
        for iqn in there
            .into_iter()
            .filter(|_| job.purpose == Purpose::Compare)
        {
            let names = configfs.sessions(iqn)?;
            let names = names
                .iter()
                .map(|name| one_line(name).into_owned())
                .collect();
            looked.sessions.insert(iqn.to_owned(), names);
        }
        Ok(Some(looked))
    }
}

/// What clients have registered to stay so is written to the pool. It is no thing that a person is told.
fn persistent<'a>(job: &'a Job<'_>, found: &Tree) -> Result<Option<ServerStep<'a>>, ServiceError> {
    use Purpose::{Start, Started, Stop};
    let database = job.here.configfs.database()?;
    let watched = matches!(job.purpose, Start | Started | Stop);
    let Some(database) = database.filter(|_| watched) else {
        return Ok(None);
    };
    let files = Files::of(&database, &job.parameters.root);
    let units = &job.desired().units;
    let serials: BTreeSet<&str> = units.keys().map(String::as_str).collect();
    if files.are(&serials) {
        return Ok(None);
    }
    let pool = &job.parameters.pool;
    let served = units.iter().filter(|(serial, unit)| {
        let store = backstore(pool, serial, unit);
        found.contains_key(&store)
    });
    let served: BTreeSet<&str> = served.map(|(serial, _)| serial.as_str()).collect();
    Ok(Some(ServerStep {
        words: Vec::new(),
        act: Box::new(move || {
            let made = files.make(&serials, |serial| served.contains(serial));
            // A link that is left does no harm to a pool that has gone.
            if !job.stops() {
                made?;
            }
            Ok(())
        }),
    }))
}

/// The targets that starts of this pool made: by its copy. Without one, those that offer the pool's own units
/// and no others; what a target is called proves nothing.
fn ours(job: &Job<'_>, configfs: &Configfs) -> Result<BTreeSet<String>, ServiceError> {
    let Some(saved) = job.saved else {
        return Ok(configfs.targets_of(&job.parameters.pool)?);
    };
    let made = saved.starts().flat_map(|made| made.targets.keys());
    Ok(made.cloned().collect())
}

/// Refuses a secret that the kernel takes for none, a target of a wanted name that is there and not ours, and that a
/// number that clients are using comes to mean another volume.
fn refuse(job: &Job<'_>, configfs: &Configfs, ours: &BTreeSet<String>) -> Result<(), ServiceError> {
    if !job.plans_start() {
        return Ok(());
    }
    if let Some((secret, _)) = job.secrets.iter().find(|(_, it)| it.starts_with("NULL")) {
        let path = secret.to_string();
        return Err(ServiceError::NullSecret { path });
    }
    let there = configfs.targets()?;
    let foreign = |iqn: &&String| there.contains(*iqn) && !ours.contains(*iqn);
    for iqn in job.desired().targets.keys().filter(foreign) {
        let (iqn, of) = (iqn.clone(), "the kernel's target");
        only_ours(Thing::Target { iqn, of }, Some(Whose::Unknown))?;
    }
    let saved = job.saved.filter(|_| job.purpose == Purpose::Start);
    let Some(served) = saved.map(|saved| &saved.desired) else {
        return Ok(());
    };
    for (iqn, target) in &served.targets {
        for (lun, exposure, unit) in served.units_of(target) {
            let now = [&*exposure.serial, &unit.identity, &unit.path];
            job.same_volume(iqn, lun, now, || Ok(!configfs.sessions(iqn)?.is_empty()))?;
        }
    }
    Ok(())
}

fn wanted(job: &Job<'_>) -> Vec<WantedEntry> {
    let digest = |(secret, text): (&SecretRef, &String)| {
        (secret.clone(), Sha256::digest(text.as_bytes()).into())
    };
    let digests: BTreeMap<SecretRef, Digest> = job.secrets.iter().map(digest).collect();
    entries(
        &job.parameters.pool,
        job.desired(),
        &digests,
        &job.reservations,
    )
}

/// Volumes by their serial numbers, also of those that go.
fn names<'a>(job: &'a Job<'_>) -> BTreeMap<&'a str, &'a str> {
    let before = job.saved.map(|saved| &saved.desired);
    let all = before.into_iter().chain([job.desired()]);
    let units = all.flat_map(|desired| &desired.units);
    units
        .map(|(serial, unit)| (serial.as_str(), unit.name.as_str()))
        .collect()
}

/// What a start makes anew although it looks right: volumes that were replaced by others of the same name are still the old ones to
/// the kernel, and units may have a company that they are to have no longer.
fn stale(job: &Job<'_>, wanted: &[WantedEntry], found: &Tree) -> BTreeSet<String> {
    if !job.plans_start() {
        return BTreeSet::new();
    }
    let saved = job.saved;
    let replaced = |serial: &String, identity: &str| {
        let mut starts = saved.into_iter().flat_map(Saved::starts);
        starts.any(|made| {
            let before = made.units.get(serial);
            before.is_some_and(|before| before.identity != identity)
        })
    };
    let units = job.desired().units.iter();
    units
        .filter(|(serial, unit)| replaced(serial, &unit.identity))
        .map(|(serial, unit)| backstore(&job.parameters.pool, serial, unit))
        .chain(others_company(wanted, found))
        .collect()
}

/// The names of the targets that are there.
fn targets(found: &Tree) -> Vec<&str> {
    let folders = found.keys().filter_map(|path| path.strip_prefix("iscsi/"));
    folders.filter(|rest| !rest.contains('/')).collect()
}
