//! What the tests share: a cluster whose heads, site and administration are simulated.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use hawser_cluster::host::drill::{HostFault, Look, StampedLine};
use hawser_cluster::host::questions::{
    ForgetFailures, LookAround, MakeFault, MendFault, ShowFault, StampLog,
};
use hawser_drill::seat::{Seat, Volume};
use hawser_drill::stage::{Cluster, Stage};
use hawser_host::sim::{Simulated, Wire};
use hawser_host::site::{Seen, Site, SiteError, SiteFault, Watcher};
use hawser_host::{Answers, Clock, Declined, Entry, Host, HostError, Reach, Reconnecting, Stop};
use hawser_model::cluster_file::{ClusterFile, parse_complete};
use hawser_model::drill::PowerEvent;
use hawser_model::names::HostName;
use hawser_model::output::cluster::ClusterStatus;
use tempfile::TempDir;

/// What is broken now.
#[derive(Default)]
pub struct Broken {
    around: Vec<SiteFault>,
    on_heads: Vec<(HostName, HostFault)>,
    off: BTreeSet<HostName>,
    standby: BTreeSet<String>,
    /// The mending of this number, counted from 0, fails; and how many there were.
    pub fails_at: Option<usize>,
    pub mendings: usize,
}

impl Broken {
    pub fn count(&self) -> usize {
        self.around.len() + self.on_heads.len() + self.off.len() + self.standby.len()
    }

    pub fn is_nothing(&self) -> bool {
        self.count() == 0
    }

    /// Counts a mending; false: it fails.
    fn may_mend(&mut self) -> bool {
        self.mendings += 1;
        self.fails_at != Some(self.mendings - 1)
    }
}

/// The world: heads, their site, their administration.
#[derive(Clone)]
pub struct World {
    broken: Arc<Mutex<Broken>>,
    clock: Clock,
    notes: PathBuf,
}

impl World {
    pub fn broken(&self) -> MutexGuard<'_, Broken> {
        self.broken.lock().unwrap()
    }
}

struct Head {
    name: HostName,
    world: World,
}

const QUESTIONS: &[Entry<Head>] = &[
    Entry::of::<MakeFault>(),
    Entry::of::<ShowFault>(),
    Entry::of::<MendFault>(),
    Entry::of::<LookAround>(),
    Entry::of::<StampLog>(),
    Entry::of::<ForgetFailures>(),
];

impl Answers<Head> for MakeFault {
    fn answer(self, head: &mut Head, _: &Stop) -> Result<(), Declined> {
        let there = (head.name.clone(), self.fault);
        head.world.broken().on_heads.push(there);
        Ok(())
    }
}

impl Answers<Head> for ShowFault {
    fn answer(self, head: &mut Head, _: &Stop) -> Result<Option<String>, Declined> {
        let there = (head.name.clone(), self.0);
        let broken = head.world.broken();
        Ok(broken
            .on_heads
            .contains(&there)
            .then(|| "it is there".to_owned()))
    }
}

impl Answers<Head> for MendFault {
    fn answer(self, head: &mut Head, _: &Stop) -> Result<(), Declined> {
        let mut broken = head.world.broken();
        let there = (head.name.clone(), self.0);
        broken.on_heads.retain(|it| *it != there);
        Ok(())
    }
}

impl Answers<Head> for LookAround {
    fn answer(self, _: &mut Head, _: &Stop) -> Result<Look, Declined> {
        Err("nobody looks here".into())
    }
}

impl Answers<Head> for StampLog {
    fn answer(self, _: &mut Head, _: &Stop) -> Result<StampedLine, Declined> {
        Err("nothing is logged here".into())
    }
}

impl Answers<Head> for ForgetFailures {
    fn answer(self, _: &mut Head, _: &Stop) -> Result<(), Declined> {
        Ok(())
    }
}

impl Reach for World {
    fn connect(&self, host: &HostName) -> Result<Box<dyn Host>, HostError> {
        let wire = Wire::of(self.clock.clone());
        if self.broken().off.contains(host) {
            wire.lose(host.clone());
        }
        let head = Head {
            name: host.clone(),
            world: self.clone(),
        };
        Ok(Box::new(Simulated::new(
            host.clone(),
            head,
            QUESTIONS,
            &wire,
        )))
    }

    fn clock(&self) -> Clock {
        self.clock.clone()
    }
}

impl Cluster for World {
    fn status(&self) -> Result<ClusterStatus, String> {
        Err("nobody asks in these tests".into())
    }

    fn standby(&self, node: &str, on: bool) -> Result<(), String> {
        let mut broken = self.broken();
        match on {
            true => broken.standby.insert(node.to_owned()),
            false if !broken.may_mend() => return Err("planted".into()),
            false => broken.standby.remove(node),
        };
        Ok(())
    }
}

impl Site for World {
    fn is_expendable(&self) -> bool {
        true
    }

    fn on_this_machine(&self) -> Option<&str> {
        None
    }

    fn prepare(&self) -> Result<(), SiteError> {
        Ok(())
    }

    fn has_power(&self, host: &HostName) -> Result<bool, SiteError> {
        Ok(!self.broken().off.contains(host))
    }

    fn power_off(&self, host: &HostName) -> Result<(), SiteError> {
        let mut broken = self.broken();
        broken.off.insert(host.clone());
        // What it had broken on itself is gone with its memory.
        broken.on_heads.retain(|(head, _)| head != host);
        Ok(())
    }

    fn power_on(&self, host: &HostName) -> Result<(), SiteError> {
        let mut broken = self.broken();
        match broken.may_mend() {
            true => {
                broken.off.remove(host);
                Ok(())
            }
            false => Err(SiteError::for_good("planted")),
        }
    }

    fn shows_off(&self, host: &HostName) -> Result<Option<String>, SiteError> {
        Ok((!self.has_power(host)?).then(|| "it is off".to_owned()))
    }

    fn power_log(&self, _: &[HostName]) -> Vec<PowerEvent> {
        Vec::new()
    }

    fn watcher<'a>(&'a self, _: &'a HostName) -> Option<Box<dyn Watcher + 'a>> {
        struct Nobody;
        impl Watcher for Nobody {
            fn look(&mut self) -> Seen {
                Seen::Unknown
            }
        }
        Some(Box::new(Nobody))
    }

    fn break_now(&self, fault: &SiteFault) -> Result<(), SiteError> {
        self.broken().around.push(fault.clone());
        Ok(())
    }

    fn shows(&self, fault: &SiteFault) -> Result<Option<String>, SiteError> {
        let there = self.broken().around.contains(fault);
        Ok(there.then(|| "it is there".to_owned()))
    }

    fn mend(&self, fault: &SiteFault) -> Result<(), SiteError> {
        let mut broken = self.broken();
        match broken.may_mend() {
            true => {
                broken.around.retain(|it| it != fault);
                Ok(())
            }
            false => Err(SiteError::for_good("planted")),
        }
    }

    fn notes(&self) -> Result<PathBuf, SiteError> {
        Ok(self.notes.clone())
    }
}

/// A cluster file, and a folder for notes.
pub struct Bench {
    file: ClusterFile,
    pub notes: TempDir,
}

impl Bench {
    pub fn new() -> Self {
        let path = "../../examples/lab/hawser.toml";
        let text = fs::read_to_string(path).unwrap();
        Self {
            file: parse_complete(&text, path).unwrap_or_else(|errors| panic!("{errors}")),
            notes: tempfile::tempdir().unwrap(),
        }
    }

    /// A world in which nothing is broken, and everybody waits by this clock.
    pub fn world(&self, clock: &Clock) -> World {
        World {
            clock: clock.clone(),
            broken: Arc::default(),
            notes: self.notes.path().to_owned(),
        }
    }

    /// Sets the stage for a drill whose client is reached in this way, on another machine.
    pub fn with<T>(
        &self,
        world: &World,
        client: Box<dyn Reach>,
        work: impl FnOnce(&mut Stage<'_>) -> T,
    ) -> T {
        let hosts = Reconnecting::new(world);
        let seat = Seat {
            host: "client1".into(),
            way: client,
            remote: true,
            volume: Volume::default(),
            initiator: None,
            chap: None,
        };
        let mut stage = Stage::set(&hosts, world, &self.file, world, &|| 0, None, seat).unwrap();
        work(&mut stage)
    }
}
