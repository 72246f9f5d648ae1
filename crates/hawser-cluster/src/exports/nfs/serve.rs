//! How the kernel's NFS server serves a pool.

use std::collections::BTreeSet;
use std::path::Path;

use hawser_tool::Deadline;

use super::kept::{Kept, lines};
use super::options::NfsOptions;
use super::plan::plan;
use super::reclaim::{finish, is_under_way};
use super::server::{NfsError, look, perform, ready, release};
use super::table::{Found, Pair};
use crate::exports::host::LOOK_AGAIN;
use crate::exports::service::job::{Job, Purpose};
use crate::exports::service::owned::{Thing, Whose, only_ours};
use crate::exports::service::server::{Act, Looked, Server, ServerStep};
use crate::exports::service::{LOOK, ServiceError};

/// The kernel's NFS server.
pub struct Nfs;

impl Server for Nfs {
    fn service(&self) -> &'static str {
        "the NFS server"
    }

    fn ready(&self) -> Result<(), ServiceError> {
        Ok(ready()?)
    }

    fn look<'a>(&self, job: &'a Job<'a>) -> Result<Option<Looked<'a>>, ServiceError> {
        let needed = !job.desired().nfs.is_empty();
        if job.purpose == Purpose::Start && needed {
            finish()?;
            self.ready()?;
        }
        let Some(mut looked) = looked(job, look()?)? else {
            return Ok(None);
        };
        looked.steps.splice(0..0, kept(job));
        if needed && matches!(job.purpose, Purpose::Compare | Purpose::Health) {
            let lacks = lacks(job.until);
            looked.wrong.extend(lacks.map(|error| error.to_string()));
        }
        Ok(Some(looked))
    }
}

/// Why clients would not be answered. A server that the start of another pool starts again right now is waited for.
fn lacks(until: Option<Deadline>) -> Option<NfsError> {
    let mut lacks = None;
    // Not asked while it stops: the kernel answers only when all that is served has ended.
    let over = || {
        let over = !is_under_way();
        lacks = over.then(|| ready().err()).flatten();
        over
    };
    let until = until.unwrap_or(Deadline::after(LOOK));
    until.holds(LOOK_AGAIN, over).then_some(lacks).flatten()
}

/// Before anything is exported it stands in a file, and before it is taken away in none. It is no thing that a person is told.
fn kept<'a>(job: &Job<'_>) -> Option<ServerStep<'a>> {
    let file = Kept::of(&job.parameters.pool);
    let wanted = &job.desired().nfs;
    let act: Act<'a> = match job.purpose {
        Purpose::Start if !wanted.is_empty() => {
            let text = lines(wanted);
            (!file.says(&text)).then(|| Box::new(move || Ok(file.write(&text)?)))?
        }
        Purpose::Start | Purpose::Stop => {
            (file.is_there()).then(|| Box::new(move || Ok(file.remove()?)))?
        }
        _ => return None,
    };
    let words = Vec::new();
    Some(ServerStep { words, act })
}

/// What is found of the pool in this table.
fn looked<'a>(job: &Job<'a>, mut table: Found) -> Result<Option<Looked<'a>>, ServiceError> {
    let desired = job.desired();
    // The copy says what this pool has exported. Without one it is all that is below its root. What ZFS exports by itself goes
    // with the pool, and says nothing of its health.
    let health = job.purpose == Purpose::Health;
    let is_ours = |((path, _), options): &(&Pair, &NfsOptions)| {
        Path::new(path).starts_with(&job.parameters.root)
            && !(health && options.waits_for_its_mount())
    };
    let ours: BTreeSet<Pair> = match job.saved {
        Some(saved) => saved.nfs_pairs(),
        None => {
            let below = table.iter().filter(is_ours);
            below.map(|(pair, _)| pair.clone()).collect()
        }
    };
    let mut wrong = Vec::new();
    match (job.purpose, job.saved) {
        (Purpose::Start, _) => {
            let foreign = |pair: &Pair| table.contains_key(pair) && !ours.contains(pair);
            for (directory, client) in desired.nfs_pairs().filter(foreign) {
                only_ours(Thing::Export(directory, client), Some(Whose::Unknown))?;
            }
        }
        (Purpose::Health, Some(_)) if !desired.nfs_pairs().any(|it| table.contains_key(&it)) => {
            return Ok(None);
        }
        (Purpose::Health, None) if ours.is_empty() => return Ok(None),
        (Purpose::Health, None) => wrong.extend(ours.iter().map(|(directory, client)| {
            format!("{directory} is exported to {client}, and was not started by hawser")
        })),
        _ => {}
    }
    // What no copy says was made by a start goes only with the whole pool.
    let kept = health || (job.saved.is_none() && !job.stops());
    let goes = if kept { &BTreeSet::new() } else { &ours };
    let operations = plan(&desired.nfs, &table, goes).into_iter();
    let steps = operations.map(|operation| ServerStep {
        words: operation.words(),
        act: Box::new(move || Ok(perform(&operation)?)),
    });
    let steps = steps.collect();
    table.retain(|pair, _| ours.contains(pair));
    let root = &job.parameters.root;
    Ok(Some(Looked {
        steps,
        wrong,
        exported: table,
        // The file systems must be unmounted.
        release: Some(Box::new(move || Ok(release(root)?))),
        ..Looked::default()
    }))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::exports::Desired;
    use crate::exports::desired::DesiredDirectory;
    use crate::exports::host::{Parameters, Saved};
    use crate::exports::service::here::Here;

    fn table(pairs: &[(&str, &str)]) -> Found {
        let one = |(path, client): &(&str, &str)| {
            let pair = ((*path).to_owned(), (*client).to_owned());
            (pair, NfsOptions::default())
        };
        pairs.iter().map(one).collect()
    }

    fn desired(pairs: &[(&str, &str)]) -> Desired {
        let mut desired = Desired::default();
        for ((path, client), options) in table(pairs) {
            let new = || DesiredDirectory {
                fsid: String::new(),
                clients: BTreeMap::new(),
            };
            let directory = desired.nfs.entry(path).or_insert_with(new);
            directory.clients.insert(client, options);
        }
        desired
    }

    /// What is to be done, what is wrong, and what is exported of the pool; `None`: nothing is there.
    type Told = Option<(Vec<String>, Vec<String>, usize)>;

    fn told(
        purpose: Purpose,
        saved: Option<&Saved>,
        wanted: &[(&str, &str)],
        there: &[(&str, &str)],
    ) -> Result<Told, String> {
        let (here, wanted) = (Here::default(), desired(wanted));
        let parameters = Parameters::of("tank");
        let job = Job::new(&here, &parameters, purpose, saved, Some(&wanted)).unwrap();
        let looked = looked(&job, table(there)).map_err(|error| error.to_string())?;
        Ok(looked.map(|looked| {
            let steps = looked.steps.iter();
            let steps = steps.flat_map(|step| step.words.clone()).collect();
            (steps, looked.wrong, looked.exported.len())
        }))
    }

    const HOME: (&str, &str) = ("/tank/home", "*");
    const ISO: (&str, &str) = ("/tank/iso", "*");
    const ELSE: (&str, &str) = ("/else", "*");

    fn saved(pairs: &[(&str, &str)]) -> Saved {
        let parameters = Parameters::of("tank");
        Saved {
            parameters,
            desired: desired(pairs),
            before: Vec::new(),
            marks: BTreeMap::new(),
            portals: BTreeSet::new(),
            made: None,
            volumes: BTreeMap::new(),
        }
    }

    fn done(told: Result<Told, String>) -> Vec<String> {
        told.unwrap().unwrap().0
    }

    #[test]
    fn a_copy_says_what_goes_and_nothing_else_is_touched() {
        use Purpose::{Compare, Health, Start, Stop};
        let copy = saved(&[HOME]);
        let gone = ["/tank/home is no longer exported to *"];
        assert_eq!(done(told(Stop, Some(&copy), &[], &[HOME, ISO, ELSE])), gone);
        for purpose in [Start, Compare] {
            let told = told(purpose, Some(&copy), &[ISO], &[HOME, ELSE]);
            let new = "/tank/iso is exported to * (rw)";
            assert_eq!(done(told), [new, gone[0]]);
        }
        let foreign = told(Start, Some(&copy), &[ISO], &[HOME, ISO]).unwrap_err();
        assert!(
            foreign.starts_with("/tank/iso is exported to * already"),
            "{foreign}"
        );
        let watched = |there: &[_]| told(Health, Some(&copy), &[HOME], there).unwrap();
        assert_eq!(watched(&[HOME, ISO]), Some((vec![], vec![], 1)));
        assert_eq!(watched(&[ISO]), None);
    }

    #[test]
    fn without_a_copy_a_stop_takes_all_below_the_root_and_a_start_none() {
        use Purpose::{Compare, Health, Start, Stop};
        let gone = [
            "/tank/home is no longer exported to *",
            "/tank/iso is no longer exported to *",
        ];
        assert_eq!(done(told(Stop, None, &[], &[HOME, ISO, ELSE])), gone);
        for purpose in [Start, Compare] {
            assert_eq!(done(told(purpose, None, &[ISO], &[HOME, ISO])), [""; 0]);
        }
        let foreign = "/tank/home is exported to *, and was not started by hawser";
        let watched = |there: &[_]| told(Health, None, &[], there).unwrap();
        assert_eq!(
            watched(&[HOME, ELSE]),
            Some((vec![], vec![foreign.into()], 1))
        );
        assert_eq!(watched(&[ELSE]), None);
    }

    #[test]
    fn what_zfs_exports_by_itself_says_nothing_of_health() {
        let (here, parameters, wanted) =
            (Here::default(), Parameters::of("tank"), desired(&[HOME]));
        let job = Job::new(&here, &parameters, Purpose::Health, None, Some(&wanted)).unwrap();
        let shared = ("/tank/shared".to_owned(), "*".to_owned());
        let options = NfsOptions::shown("sync,crossmnt,mountpoint,sec=sys,rw");
        let there = Found::from([(shared, options)]);
        assert!(looked(&job, there).unwrap().is_none(), "nothing runs yet");
    }
}
