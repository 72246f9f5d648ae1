//! What serves the exports of pools: tgtd, the kernel's target, the kernel's NFS server. All of them are started,
//! stopped, compared and watched in one way: look, plan, write down, perform, look again. A [`Server`] is what differs
//! between them, and each is a file of its own.

use std::collections::BTreeMap;

use hawser_model::cluster_file::Backend;

use super::health::UNFINISHED;
use super::job::{Job, Purpose};
use super::{Comparison, Health, Said, ServiceError};
use crate::exports::host::Saved;
use crate::exports::lio::Lio;
use crate::exports::nfs::{self, Nfs};
use crate::exports::tgt::Tgtd;

/// The kernel's NFS server. Every pool may have directories beside its targets.
pub const NFS: &dyn Server = &Nfs;

/// The iSCSI server of each back end.
pub fn iscsi(backend: Backend) -> &'static dyn Server {
    match backend {
        Backend::Lio => &Lio,
        Backend::Tgt => &Tgtd,
    }
}

/// What offers a pool: an iSCSI target, or without one the NFS server.
pub fn of(backend: Option<Backend>) -> &'static dyn Server {
    backend.map_or(NFS, iscsi)
}

/// What differs between servers.
pub trait Server: Sync {
    /// What a status calls it.
    fn service(&self) -> &'static str;

    /// Why it could not serve a pool that comes to this host now; nothing if it could. Changes nothing.
    fn lacks(&self) -> Option<String> {
        self.ready().err().map(|why| why.to_string())
    }

    /// Makes it ready to be looked at, or says what this host lacks.
    fn ready(&self) -> Result<(), ServiceError> {
        Ok(())
    }

    /// Looks at what it has of the pool, and refuses what is wanted and somebody else's. `None`: nothing is there.
    fn look<'a>(&self, job: &'a Job<'a>) -> Result<Option<Looked<'a>>, ServiceError>;

    /// What becomes of a stop that failed. It may succeed, since what is open is looked for after every stop: then why
    /// nothing could be taken away is returned.
    fn gave_up(
        &self,
        _: &Job<'_>,
        error: ServiceError,
        _: Said<'_>,
    ) -> Result<Option<String>, ServiceError> {
        Err(error)
    }
}

/// What a server has of a pool.
#[derive(Default)]
pub struct Looked<'a> {
    /// What leads from there to what is wanted, in this order; nothing when all is as it should be.
    pub steps: Vec<ServerStep<'a>>,
    /// Writes into the copy what it must say of that while a start does it.
    pub note: Option<Note<'a>>,
    /// What is wrong although no step is to be done.
    pub wrong: Vec<String>,
    /// Who is logged in to each target that is there; asked for a comparison only.
    pub sessions: BTreeMap<String, Vec<String>>,
    /// What is exported by NFS.
    pub exported: nfs::Found,
    /// Lets go of what is still held when all was taken away.
    pub release: Option<Act<'a>>,
}

/// Something that can be done to a server.
pub type Act<'a> = Box<dyn Fn() -> Result<(), ServiceError> + 'a>;

/// Writes down what is done, or what was done if it is `true`.
pub type Note<'a> = Box<dyn Fn(&mut Saved, bool) + 'a>;

/// One thing to do.
pub struct ServerStep<'a> {
    /// In words, a line for each thing that is worth one to a person.
    pub words: Vec<String>,
    /// Does it; what is done already is done.
    pub act: Act<'a>,
}

impl Looked<'_> {
    /// What is to be done, in words.
    fn words(&self) -> Vec<String> {
        let steps = self.steps.iter();
        steps.flat_map(|step| step.words.clone()).collect()
    }

    fn note(&self, copy: &mut Saved, done: bool) {
        self.note.iter().for_each(|note| note(copy, done));
    }

    fn perform(&self, said: Said<'_>) -> Result<(), ServiceError> {
        for step in &self.steps {
            (step.act)()?;
            step.words.iter().for_each(|words| said(words));
        }
        Ok(())
    }
}

/// Has a server offer what is wanted. What it may make is in the copy, on the disk, before it makes anything.
pub fn start(
    server: &dyn Server,
    job: &Job<'_>,
    copy: &mut Saved,
    said: Said<'_>,
) -> Result<(), ServiceError> {
    let folder = &job.here.folder;
    let looked = server.look(job)?.unwrap_or_default();
    looked.note(copy, false);
    copy.write(folder)?;
    match looked.perform(said) {
        Err(ServiceError::Foreign(foreign)) => {
            // The name is somebody else's, and no number of it ours.
            copy.disown(&foreign);
            copy.write(folder)?;
            return Err(foreign.into());
        }
        done => done?,
    }
    looked.note(copy, true);
    nothing_left(server, &job.again(Purpose::Started, Some(copy)))
}

/// Takes everything of the pool away from a server. Why nothing could be taken away is returned.
pub fn stop(
    server: &dyn Server,
    job: &Job<'_>,
    said: Said<'_>,
) -> Result<Option<String>, ServiceError> {
    let mut take_away = || {
        let Some(looked) = server.look(job)? else {
            return Ok(());
        };
        looked.perform(said)?;
        nothing_left(server, &job.again(Purpose::Stopped, job.saved))?;
        looked.release.map_or(Ok(()), |release| release())
    };
    match take_away() {
        Err(error) => server.gave_up(job, error, said),
        Ok(()) => Ok(None),
    }
}

/// That nothing is left to do after all was done.
fn nothing_left(server: &dyn Server, job: &Job<'_>) -> Result<(), ServiceError> {
    let left = server.look(job)?.unwrap_or_default();
    match left.steps.is_empty() {
        true => Ok(()),
        false => Err(ServiceError::NotTaken(left.words())),
    }
}

/// What a start would do, and what is there.
pub fn compare(
    server: &dyn Server,
    job: &Job<'_>,
    into: &mut Comparison,
) -> Result<(), ServiceError> {
    let looked = server.look(job)?.unwrap_or_default();
    into.pending.extend(looked.words());
    into.pending.extend(looked.wrong);
    into.sessions.extend(looked.sessions);
    into.exported.extend(looked.exported);
    Ok(())
}

/// Whether what was started is still there.
pub fn health(server: &dyn Server, job: &Job<'_>) -> Result<Health, ServiceError> {
    let Some(looked) = server.look(job)? else {
        return Ok(Health::Stopped);
    };
    let mut missing = looked.words();
    if job.unfinished() {
        missing.insert(0, UNFINISHED.into());
    }
    missing.extend(looked.wrong);
    Ok(match missing.is_empty() {
        true => Health::Running,
        false => Health::Broken(missing),
    })
}
