//! The service against a tgtd in memory.

mod hangs;
mod hostile;
mod interrupted;
mod lio;
mod tgtd;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use hawser_files::Expected;
use hawser_model::cluster_file::Backend;
use hawser_tool::Deadline;
use tempfile::TempDir;

use super::health::{LOOK, health_on};
use super::here::Here;
use super::start_stop::{make, stop_on};
use super::{Health, Record, Reservations, ServiceError, Wanted};
use crate::exports::desired::Volume;
use crate::exports::host::{Copies, Facts, Parameters, Saved, process};
use crate::exports::state::State;
use crate::exports::tgt::{Daemon, numbers};
use crate::exports::{parse, resolve};
use tgtd::Tgtd;

pub const IQN: &str = "iqn.2026-01.lab:tank";

/// A head with a pool.
pub struct World {
    folder: TempDir,
    tgtd: Arc<Mutex<Tgtd>>,
    here: Here,
    parameters: Parameters,
    pub state: State,
}

impl World {
    /// With these volumes.
    pub fn with(volumes: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        fs::create_dir(path.join("run")).unwrap();
        fs::create_dir(path.join("tank")).unwrap();
        let socket = path.join("socket");
        let own = i32::try_from(std::process::id()).unwrap();
        let here = Here {
            folder: Copies::of(path.join("run"), nix::unistd::geteuid().as_raw()),
            daemon: Daemon::at(&socket),
            configfs: crate::exports::lio::Configfs::at(path.join("configfs")),
            // This very process is the tgtd of the test.
            look: Box::new(move |volumes, root| {
                let places = volumes.keys().copied().collect();
                let processes = process(own, "tgtd", &places, root).into_iter().collect();
                Ok(Facts {
                    processes,
                    ..Facts::default()
                })
            }),
            login: Box::new(|_, _| Ok(())),
            read: Box::new(|_, _| Ok(())),
            end: Box::new(|_| Err(std::io::ErrorKind::Unsupported.into())),
        };
        let world = Self {
            tgtd: tgtd::listen(&socket),
            parameters: Parameters {
                pool: "tank".into(),
                root: path.join("tank"),
                authority: "iqn.2026-01.lab".into(),
                portals: vec!["192.0.2.1".parse().unwrap()],
                backend: Backend::Tgt,
                volume_group: None,
            },
            here,
            folder,
            state: State::default(),
        };
        volumes.iter().for_each(|name| world.add(name));
        world
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.parameters.root.join(name)
    }

    pub fn add(&self, name: &str) {
        fs::write(self.path(&format!("{name}.img")), [0; 512]).unwrap();
    }

    pub fn tgtd(&self) -> MutexGuard<'_, Tgtd> {
        self.tgtd.lock().unwrap()
    }

    pub fn wanted(&self, text: &str) -> Wanted {
        let mut volumes: Vec<Volume> = fs::read_dir(&self.parameters.root)
            .unwrap()
            .map(|entry| {
                let path = entry.unwrap().path();
                let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
                let path = path.to_str().unwrap().to_owned();
                Volume {
                    identity: format!("inode:{name}"),
                    name,
                    path,
                    bytes: 512,
                    discards: true,
                }
            })
            .collect();
        volumes.sort_by(|a, b| a.name.cmp(&b.name));
        let file = parse(text, "exports.toml").unwrap();
        let made = resolve(&file, &volumes, &self.state, &self.parameters.context()).unwrap();
        Wanted {
            desired: made.desired,
            state: made.state,
            remembered: self.state.clone(),
            clients: Ok(Record::default()),
            reservations: Reservations::default(),
        }
    }

    pub fn start(&mut self, text: &str) -> Result<Vec<String>, ServiceError> {
        let wanted = self.wanted(text);
        let mut said = Vec::new();
        make(&self.here, &self.parameters, &wanted, &mut |what| {
            said.push(what.to_owned())
        })?;
        self.state = wanted.state;
        Ok(said)
    }

    pub fn stop(&self) -> Result<(), ServiceError> {
        stop_on(&self.here, &self.parameters, &mut |_| {})
    }

    pub fn health(&self) -> Result<Health, ServiceError> {
        health_on(&self.here, &self.parameters, LOOK)
    }

    pub fn saved(&self) -> Option<Saved> {
        Saved::read_in(&self.here.folder, "tank").unwrap()
    }

    /// As if somebody logged in to every target of the pool.
    pub fn log_in(&self, names: &[&[u8]]) {
        let mut tgtd = self.tgtd();
        let targets = tgtd
            .targets
            .values_mut()
            .filter(|target| target.iqn.starts_with(IQN));
        for target in targets {
            for (i, name) in names.iter().enumerate() {
                target.sessions.insert(i as u64 + 1, name.to_vec());
            }
        }
    }

    fn run(&self) -> &Path {
        &self.here.folder
    }
}

fn broken(health: Result<Health, ServiceError>) -> String {
    match health {
        Ok(Health::Broken(what)) => what.join("; "),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_there_under_a_wanted_name_and_number_is_left_alone() {
    let mut world = World::with(&["a", "b"]);
    let disk = world.folder.path().join("foreign.dat");
    fs::write(&disk, "x").unwrap();
    world.tgtd().foreign(7, "iqn.2020-01.foreign:disk", &disk);
    let first = numbers(IQN).next().unwrap();
    world
        .tgtd()
        .foreign(first, "iqn.2020-01.foreign:two", &disk);
    let before = world.tgtd().shown();
    let named = "[[target]]\nname = \"x\"\niqn = \"iqn.2020-01.foreign:disk\"\n";
    let refused = world.start(named).unwrap_err().to_string();
    assert!(
        refused.contains("iqn.2020-01.foreign:disk is in tgtd already"),
        "{refused}"
    );
    assert_eq!(world.tgtd().shown(), before);
    world.stop().unwrap();
    assert_eq!(world.tgtd().shown(), before);

    // A number that is taken is not ours: the next one is.
    world.start("").unwrap();
    assert_eq!(world.tgtd().targets[&numbers(IQN).nth(1).unwrap()].iqn, IQN);
    assert_eq!(world.health().unwrap(), Health::Running);
    world.start(named).unwrap_err();
    world.stop().unwrap();
    assert_eq!((world.tgtd().shown(), world.saved()), (before, None));
    assert_eq!(world.health().unwrap(), Health::Stopped);
}

#[test]
fn many_units_for_many_hosts_are_watched_and_stopped() {
    let names: Vec<String> = (0..400).map(|i| format!("disk{i}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut world = World::with(&names);
    let hosts: Vec<String> = (0..48)
        .map(|i| format!("\"iqn.1998-01.com.vmware:host{i}\""))
        .collect();
    let hosts = hosts.join(", ");
    world
        .start(&format!(
            "[[host_group]]\nname = \"h\"\nmembers = [{hosts}]\n[[view]]\nname = \"v\"\nhost_group = \"h\"\n"
        ))
        .unwrap();
    let copy = fs::metadata(world.run().join("tank.json")).unwrap().len();
    assert!(copy > Expected::OF_ROOT.limit, "{copy}");
    assert_eq!(world.health().unwrap(), Health::Running);
    world.stop().unwrap();
    assert_eq!(world.saved(), None);
}

#[test]
fn storage_that_does_not_answer_fails_the_monitor_with_its_volume() {
    let mut world = World::with(&["a"]);
    world.start("").unwrap();
    assert_eq!(world.health().unwrap(), Health::Running);
    world.here.read = Box::new(|_, _| Err(std::io::ErrorKind::TimedOut.into()));
    let path = world.path("a.img").display().to_string();
    assert_eq!(
        broken(world.health()),
        format!("{path} cannot be read: its storage does not answer")
    );
    world.here.read = Box::new(|_, _| Err(std::io::Error::from_raw_os_error(5)));
    assert!(broken(world.health()).contains("Input/output error"));
}

#[test]
fn who_allows_a_look_more_time_waits_longer_for_the_storage() {
    let mut world = World::with(&["a"]);
    world.start("").unwrap();
    let least = |seconds: u64| {
        move |_: &Path, until: Deadline| match until.left() >= Duration::from_secs(seconds) {
            true => Ok(()),
            false => Err(std::io::ErrorKind::TimedOut.into()),
        }
    };
    world.here.read = Box::new(least(60));
    let health = |world: &World, whole| health_on(&world.here, &world.parameters, whole);
    assert!(broken(health(&world, LOOK)).contains("does not answer"));
    let minutes = Duration::from_secs(120);
    assert_eq!(health(&world, minutes).unwrap(), Health::Running);
}

#[test]
fn a_port_stays_open_as_long_as_a_pool_is_reached_through_it() {
    let file = "[[portal_group]]\nname = \"san\"\nportals = [\"192.0.2.1:3261\"]\n";
    let mut world = World::with(&["a"]);
    world.start(file).unwrap();
    let open = |world: &World| Vec::from_iter(world.tgtd().portals.clone());
    assert_eq!(open(&world), ["0.0.0.0:3261"]);

    // Another pool is reached through it, and did not write down that it has a part in it.
    let mut other = world.saved().unwrap();
    other.parameters.pool = "two".into();
    let iqn = "iqn.2026-01.lab:two".to_owned();
    let target = other.desired.targets.pop_first().unwrap().1;
    other.desired.targets.insert(iqn, target);
    let opened = std::mem::take(&mut other.portals);
    other.write(world.run()).unwrap();
    world.stop().unwrap();
    assert_eq!(open(&world), ["0.0.0.0:3261"]);

    // It opened it itself: then it belongs to both, and the last one closes it.
    other.portals = opened;
    other.write(world.run()).unwrap();
    world.start(file).unwrap();
    assert_eq!(world.saved().unwrap().portals, other.portals);
    Saved::remove(world.run(), "two").unwrap();
    world.stop().unwrap();
    assert_eq!(open(&world), [""; 0]);
}

#[test]
fn a_portal_of_all_addresses_stays_open_when_the_pool_is_started_again() {
    let file = "[[portal_group]]\nname = \"san\"\nportals = [\"0.0.0.0:3261\"]\n";
    let mut world = World::with(&["a"]);
    world.start(file).unwrap();
    assert_eq!(world.start(file).unwrap(), [""; 0]);
    let open = |world: &World| Vec::from_iter(world.tgtd().portals.clone());
    assert_eq!(open(&world), ["0.0.0.0:3261"]);
    world.start("").unwrap();
    assert_eq!(open(&world), [""; 0]);
}

#[test]
fn without_a_copy_and_with_a_file_that_cannot_be_read_what_is_open_tells() {
    let mut world = World::with(&["a"]);
    world
        .start("[[target]]\nname = \"x\"\niqn = \"iqn.2020-01.old:disk\"\n")
        .unwrap();
    Saved::remove(world.run(), "tank").unwrap();
    let path = world.path("a.img").display().to_string();
    assert!(broken(world.health()).contains(&path));
    let refused = world.stop().unwrap_err().to_string();
    assert!(refused.contains(&path), "{refused}");
}

#[test]
fn a_number_in_use_does_not_come_to_mean_another_volume() {
    let mut world = World::with(&["b"]);
    world.start("").unwrap();
    let served = world.saved().unwrap().desired;
    let kept = world.state.clone();
    // The file with the numbers is lost, and a volume has come that would be the first.
    world.add("a");
    world.state = State::default();
    world.log_in(&[b"iqn.client"]);
    let refused = world.start("").unwrap_err();
    assert!(
        matches!(refused, ServiceError::Renumbered { lun: 1, .. }),
        "{refused}"
    );
    world.state = State::default().with(Some(&served));
    assert_eq!(world.state, kept);
    world.start("").unwrap();
    let units = |world: &World| {
        let tgtd = world.tgtd();
        let target = tgtd.targets.values().next().unwrap();
        target
            .units
            .iter()
            .map(|(lun, (path, _))| (*lun, path.rsplit('/').next().unwrap().to_owned()))
            .collect::<Vec<_>>()
    };
    assert_eq!(units(&world), [(1, "b.img".into()), (2, "a.img".into())]);
    // Without clients the new numbers hurt nobody.
    world
        .tgtd()
        .targets
        .values_mut()
        .for_each(|target| target.sessions.clear());
    world.state = State::default();
    world.start("").unwrap();
    assert_eq!(units(&world), [(1, "a.img".into()), (2, "b.img".into())]);
}
