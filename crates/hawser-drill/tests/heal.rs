//! What a drill that was killed has left is taken back: every scenario, against heads and a site that are simulated.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use hawser_cluster::host::drill::{HostFault, Look, StampedLine};
use hawser_cluster::host::questions::{
    ForgetFailures, LookAround, MakeFault, MendFault, ShowFault, StampLog,
};
use hawser_drill::note::take_back;
use hawser_drill::scenario::{Scenario, all};
use hawser_drill::seat::{Seat, Volume, Way};
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
struct Broken {
    around: Vec<SiteFault>,
    on_heads: Vec<(HostName, HostFault)>,
    off: BTreeSet<HostName>,
    standby: BTreeSet<String>,
    /// The mending of this number, counted from 0, fails; and how many there were.
    fails_at: Option<usize>,
    mendings: usize,
}

impl Broken {
    fn count(&self) -> usize {
        self.around.len() + self.on_heads.len() + self.off.len() + self.standby.len()
    }

    fn is_nothing(&self) -> bool {
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
struct World {
    broken: Arc<Mutex<Broken>>,
    clock: Clock,
    notes: PathBuf,
}

impl World {
    fn broken(&self) -> MutexGuard<'_, Broken> {
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

    fn watcher<'a>(&'a self, _: &'a HostName) -> Box<dyn Watcher + 'a> {
        struct Nobody;
        impl Watcher for Nobody {
            fn look(&mut self) -> Seen {
                Seen::Unknown
            }
        }
        Box::new(Nobody)
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

struct Bench {
    file: ClusterFile,
    notes: TempDir,
}

impl Bench {
    fn new() -> Self {
        let path = "../../examples/lab/hawser.toml";
        let text = fs::read_to_string(path).unwrap();
        Self {
            file: parse_complete(&text, path).unwrap_or_else(|errors| panic!("{errors}")),
            notes: tempfile::tempdir().unwrap(),
        }
    }

    fn note(&self) -> PathBuf {
        self.notes.path().join("drill")
    }

    /// A drill on vmpool01, which head1 has, is killed when all its faults are made.
    fn killed(&self, scenario: &Scenario, seed: u64) -> World {
        let world = World {
            clock: Clock::simulated(),
            broken: Arc::default(),
            notes: self.notes.path().to_owned(),
        };
        self.with(&world, |stage| {
            (stage.active, stage.seed) = ("head1".into(), seed);
            for fault in scenario.plan(stage).faults {
                fault
                    .make(stage)
                    .unwrap_or_else(|e| panic!("{}: {e}", scenario.name));
            }
        });
        world.broken().mendings = 0;
        let note = format!("{}\nhead1\nvmpool01\n{seed}\n", scenario.name);
        fs::write(self.note(), note).unwrap();
        world
    }

    fn with<T>(&self, world: &World, work: impl FnOnce(&mut Stage<'_>) -> T) -> T {
        let hosts = Reconnecting::new(world);
        let seat = Seat {
            host: "client1".into(),
            way: Way::Command(Box::new(|| Err("no client in these tests".into()))),
            volume: Volume::default(),
            initiator: None,
            chap: None,
        };
        let mut stage = Stage::set(&hosts, world, &self.file, world, &|| 0, None, seat).unwrap();
        work(&mut stage)
    }

    /// Takes back what is left; the cluster is then whole.
    fn heal(&self, world: &World) -> Result<(), String> {
        self.with(world, |stage| {
            let taken = take_back(stage).map_err(|e| e.to_string())?;
            taken.expect("a drill was killed").end();
            Ok(())
        })
    }
}

#[test]
fn what_every_scenario_breaks_is_taken_back_after_a_kill() {
    let bench = Bench::new();
    for scenario in all() {
        for seed in 0..6 {
            let world = bench.killed(scenario, seed);
            // A reset gives the power back itself.
            let broken = !world.broken().is_nothing() || scenario.name == "reset";
            assert!(broken, "{} breaks nothing", scenario.name);
            let healed = bench.heal(&world);
            healed.unwrap_or_else(|e| panic!("{}: {e}", scenario.name));
            assert!(
                world.broken().is_nothing(),
                "{} is not healed",
                scenario.name
            );
            assert!(!bench.note().exists(), "{}", scenario.name);
        }
    }
}

#[test]
fn a_healing_that_fails_anywhere_is_told_and_finished_by_the_next_one() {
    let bench = Bench::new();
    for scenario in all() {
        let whole = bench.killed(scenario, 1);
        bench.heal(&whole).unwrap();
        let mendings = whole.broken().mendings;
        for number in 0..mendings {
            let world = bench.killed(scenario, 1);
            world.broken().fails_at = Some(number);
            let name = scenario.name;
            let why = bench.heal(&world).expect_err(name);
            assert!(why.contains("planted"), "{name}: {why}");
            assert!(world.broken().count() <= 1, "{name}: all others are healed");
            assert!(
                bench.note().exists(),
                "{name}: the next one must know of it"
            );
            bench.heal(&world).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert!(world.broken().is_nothing(), "{name} is not healed");
        }
    }
}
