//! Whether anything of a pool is served on this host: seen by what is open, never concluded from somebody
//! who does not answer.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hawser_files::FileError;
use hawser_tool::Deadline;

use super::ServiceError;
use super::here::Here;
use crate::exports::host::{
    Facts, LOOK_AGAIN, Parameters, SERVERS, Saved, StorageIds, closure, storage_ids_at,
    storage_ids_of_pool,
};

/// How long the kernel may take to close what was given up.
const CLOSING: Duration = Duration::from_secs(2);

/// What is looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// The volumes.
    pub volumes: StorageIds,
    /// Where the pool is mounted.
    pub root: PathBuf,
    /// A start of this pool is known: what is looked for is what it offered. Otherwise it is everything that
    /// the pool could offer, and only who serves it to others counts.
    pub started: bool,
    /// Directories that a start exported, each with to whom.
    pub nfs: BTreeSet<(String, String)>,
    /// Directories that ZFS exports by itself (`sharenfs`): of no start, and nobody's business but the pool's.
    pub of_zfs: BTreeSet<String>,
}

impl Scope {
    /// All that the pool could offer. This reads the pool.
    pub fn of_pool(parameters: &Parameters) -> Result<Self, ServiceError> {
        let root = parameters.root.clone();
        Ok(Self {
            volumes: storage_ids_of_pool(parameters)
                .map_err(FileError::io("look for the volumes of", &root))?,
            root,
            ..Self::default()
        })
    }

    /// What a start offered.
    pub fn of(saved: &Saved, parameters: &Parameters) -> Self {
        let root = parameters.root.clone();
        let units = saved.starts().flat_map(|made| made.units.values());
        let mut volumes = storage_ids_at(units.map(|unit| unit.path.as_str()));
        volumes.extend(saved.places());
        Self {
            nfs: saved.nfs_pairs(),
            volumes,
            root,
            started: true,
            of_zfs: BTreeSet::new(),
        }
    }
}

/// Who serves it, in words; nobody when this is empty.
pub fn served(scope: &Scope, facts: &Facts) -> Vec<String> {
    let mut all = Vec::new();
    let mut name = scope.volumes.clone();
    let over = closure(scope.volumes.keys().copied(), &facts.above);
    for device in facts
        .above
        .iter()
        .filter(|device| over.contains(&device.on))
    {
        name.insert(device.place, device.path.clone());
        let volume = scope.volumes.get(&device.on);
        if let (true, true, Some(volume)) = (scope.started, device.made_here, volume) {
            all.push(format!("{} lies on {volume}", device.path));
        }
    }
    for process in &facts.processes {
        let (pid, program) = (process.pid, &process.name);
        let server = SERVERS.contains(&program.as_str());
        let Some(open) = &process.open else {
            all.push(format!(
                "what {program} (process {pid}) has open cannot be looked at"
            ));
            continue;
        };
        let mut paths = BTreeSet::new();
        for open in open {
            let counts = server || (scope.started && open.writes);
            match name.get(&open.place) {
                Some(path) if counts => drop(paths.insert(path)),
                None if server
                    && !scope.started
                    && PathBuf::from(&open.path).starts_with(&scope.root) =>
                {
                    paths.insert(&open.path);
                }
                _ => {}
            }
        }
        all.extend(
            paths
                .iter()
                .map(|path| format!("{program} (process {pid}) has {path} open")),
        );
    }
    for store in &facts.backstores {
        let below = |path: &&String| !scope.started && Path::new(path).starts_with(&scope.root);
        let known = store.place.and_then(|place| name.get(&place));
        if let Some(path) = known.or(Some(&store.path).filter(below)) {
            all.push(format!(
                "the kernel's target has {path} open ({})",
                store.folder
            ));
        }
    }
    for (path, client) in &facts.nfs {
        let ours = scope.nfs.iter().any(|(directory, to)| {
            let to = to.trim_matches(['[', ']']);
            directory == path
                && client
                    .split(',')
                    .any(|one| one.trim_matches(['[', ']']) == to)
        });
        let of_zfs = || {
            scope
                .of_zfs
                .iter()
                .any(|it| Path::new(path).starts_with(it))
        };
        if ours || (!scope.started && Path::new(path).starts_with(&scope.root) && !of_zfs()) {
            all.push(format!(
                "the kernel's NFS server exports {path} to {client}"
            ));
        }
    }
    all
}

/// Who serves it now.
pub fn look(here: &Here, scope: &Scope) -> Result<Vec<String>, ServiceError> {
    let facts = (here.look)(&scope.volumes, &scope.root);
    Ok(served(
        scope,
        &facts.map_err(FileError::io("look at the processes in", "/proc"))?,
    ))
}

/// That nobody does, after it was taken away. `why`: nothing could be taken away, so nothing is waited for.
pub fn nobody(
    here: &Here,
    scope: &Scope,
    pool: &str,
    why: Option<String>,
) -> Result<(), ServiceError> {
    let closing = match why {
        Some(_) => Duration::ZERO,
        None => CLOSING,
    };
    let mut holders = Ok(Vec::new());
    let nobody = Deadline::after(closing).holds(LOOK_AGAIN, || {
        holders = look(here, scope);
        holders.as_ref().map_or(true, Vec::is_empty)
    });
    let holders = holders?;
    match nobody {
        true => Ok(()),
        false => Err(ServiceError::Served {
            pool: pool.to_owned(),
            holders: why.into_iter().chain(holders).collect(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exports::host::{Above, Backstore, Open, Process, StorageId};

    fn file(ino: u64) -> StorageId {
        StorageId::File { dev: 1, ino }
    }

    fn scope(started: bool) -> Scope {
        Scope {
            volumes: StorageIds::from([
                (file(7), "/tank/a.img".into()),
                (StorageId::Device(9), "/dev/zvol/tank/b".into()),
            ]),
            root: "/tank".into(),
            started,
            nfs: BTreeSet::from([("/tank/home".into(), "fd00::/64".into())]),
            of_zfs: BTreeSet::new(),
        }
    }

    fn process(name: &str, place: StorageId, path: &str, writes: bool) -> Facts {
        let open = Some(vec![Open {
            place,
            path: path.into(),
            writes,
        }]);
        let processes = vec![Process {
            pid: 5,
            name: name.into(),
            open,
        }];
        Facts {
            processes,
            ..Facts::default()
        }
    }

    #[test]
    fn a_server_counts_and_a_reader_or_another_file_does_not() {
        let facts = process("tgtd", file(7), "/tank/a.img", false);
        assert_eq!(
            served(&scope(true), &facts),
            ["tgtd (process 5) has /tank/a.img open"]
        );
        assert_eq!(served(&scope(false), &facts).len(), 1);
        assert!(
            served(
                &scope(true),
                &process("bash", file(7), "/tank/a.img", false)
            )
            .is_empty()
        );
        let writer = process("dd", file(7), "/tank/a.img", true);
        assert_eq!(
            (
                served(&scope(true), &writer).len(),
                served(&scope(false), &writer).len()
            ),
            (1, 0)
        );
        let other = process("tgtd", file(8), "/other/x.img", true);
        assert!(
            served(&scope(true), &other).is_empty() && served(&scope(false), &other).is_empty()
        );
        // A pool that nobody can list any more, and of which no start is known.
        let gone = process("tgtd", file(8), "/tank/lost.img", true);
        assert_eq!(
            served(&scope(false), &gone),
            ["tgtd (process 5) has /tank/lost.img open"]
        );
        let mut hidden = gone;
        hidden.processes[0].open = None;
        assert_eq!(served(&scope(true), &hidden).len(), 1);
    }

    #[test]
    fn what_lies_on_a_volume_is_followed() {
        let above = vec![
            Above {
                path: "/dev/loop0".into(),
                place: StorageId::Device(70),
                on: file(7),
                made_here: true,
            },
            Above {
                path: "/dev/dm-1".into(),
                place: StorageId::Device(80),
                on: StorageId::Device(70),
                made_here: false,
            },
            Above {
                path: "/dev/loop1".into(),
                place: StorageId::Device(71),
                on: file(6),
                made_here: true,
            },
        ];
        let facts = Facts {
            above,
            ..process("tgtd", StorageId::Device(80), "/dev/dm-1", true)
        };
        assert_eq!(
            served(&scope(true), &facts),
            [
                "/dev/loop0 lies on /tank/a.img",
                "tgtd (process 5) has /dev/dm-1 open"
            ]
        );
        assert_eq!(
            served(&scope(false), &facts),
            ["tgtd (process 5) has /dev/dm-1 open"]
        );
    }

    #[test]
    fn what_a_client_writes_on_its_volume_fails_no_stop() {
        // A partition table, and a volume group in the partition that the head has activated by itself.
        let lies = |path: &str, place, on| Above {
            path: path.into(),
            place: StorageId::Device(place),
            on: StorageId::Device(on),
            made_here: false,
        };
        let above = vec![lies("/dev/zd0p1", 90, 9), lies("/dev/dm-3", 91, 90)];
        let facts = Facts {
            above: above.clone(),
            ..Facts::default()
        };
        assert!(served(&scope(true), &facts).is_empty());
        let facts = Facts {
            above,
            ..process("tgtd", StorageId::Device(91), "/dev/dm-3", true)
        };
        assert_eq!(
            served(&scope(true), &facts),
            ["tgtd (process 5) has /dev/dm-3 open"]
        );
    }

    #[test]
    fn the_kernel_s_own_servers_count_whoever_told_them_to() {
        let store = |place| Backstore {
            folder: "core/iblock_0/x".into(),
            path: "/dev/zd0".into(),
            place,
        };
        let facts = Facts {
            backstores: vec![store(Some(StorageId::Device(9))), store(None)],
            nfs: vec![
                ("/tank/home".into(), "fd00::/64,*".into()),
                ("/tank/else".into(), "*".into()),
            ],
            ..Facts::default()
        };
        assert_eq!(
            served(&scope(true), &facts),
            [
                "the kernel's target has /dev/zvol/tank/b open (core/iblock_0/x)",
                "the kernel's NFS server exports /tank/home to fd00::/64,*"
            ]
        );
        assert_eq!(served(&scope(false), &facts).len(), 3);
        let mut shared = scope(false);
        shared.of_zfs.insert("/tank/else".into());
        assert_eq!(served(&shared, &facts).len(), 2);
        // A file that was a volume before its directory was exported: nobody looks for volumes there.
        let file = Backstore {
            path: "/tank/home/old.img".into(),
            ..store(Some(file(8)))
        };
        let facts = Facts {
            backstores: vec![file],
            ..Facts::default()
        };
        assert_eq!(
            served(&scope(false), &facts),
            ["the kernel's target has /tank/home/old.img open (core/iblock_0/x)"]
        );
        assert!(served(&scope(true), &facts).is_empty());
    }
}
