//! What the tests share: a cluster whose heads, site and administration are simulated.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use hawser_client::load::Load;
use hawser_cluster::host::drill::{Extent, HostFault};
use hawser_cluster::live::switches;
use hawser_drill::client_config::{ClientConfig, Volume};
use hawser_drill::context::DrillContext;
use hawser_drill::heads::RealHeads;
use hawser_host::sim::{Carried, Wire};
use hawser_host::site::{Site, SiteError, SiteFault};
use hawser_host::{Clock, Reach, Reconnecting};
use hawser_model::cluster_file::{ClusterFile, parse_complete};
use hawser_model::drill::Moment;
use hawser_model::names::HostName;
use tempfile::TempDir;

use crate::recorded::Recorded;

/// Healed, a cluster is whole after so many seconds: more than a head may be off before it is switched on. Those of the
/// recordings take up to half a minute, in which nothing more is decided.
const WHOLE_AFTER_S: f64 = 7.0;

/// How often a writer of the client has a write acknowledged, in microseconds.
pub const WRITES_EVERY_US: u64 = 25_000;

/// Who is asked what the site does.
pub const SITE: &str = "the site";

/// And what its administration does.
pub const CLUSTER: &str = "the cluster";

/// What is broken now.
#[derive(Default)]
pub struct Broken {
    pub around: Vec<SiteFault>,
    pub on_heads: Vec<(HostName, HostFault)>,
    pub off: BTreeSet<HostName>,
    /// What a fence device gives no power to: the device, and the head.
    pub outlets_off: BTreeSet<(String, HostName)>,
    /// The head that is being fenced.
    pub shooting: Option<HostName>,
    pub standby: BTreeSet<String>,
    /// The mending of this number, counted from 0, fails; and how many there were.
    pub fails_at: Option<usize>,
    pub mendings: usize,
    /// Something was broken once, and the last mending was then.
    pub made: bool,
    pub mended: Moment,
    /// What the fencers did until then they have forgotten.
    pub forgotten: Moment,
    /// When each head was last given power.
    pub on: BTreeMap<HostName, Moment>,
}

impl Broken {
    pub fn count(&self) -> usize {
        // A head is whole with other packages.
        let is_broken = |fault: &HostFault| !matches!(fault, HostFault::OtherPackages { .. });
        let on_heads = self.on_heads.iter().filter(|(_, it)| is_broken(it)).count();
        self.around.len() + on_heads + self.off.len() + self.standby.len()
    }

    pub fn is_nothing(&self) -> bool {
        self.count() == 0 && self.outlets_off.is_empty()
    }

    /// Counts a mending; false: it fails.
    pub fn may_mend(&mut self) -> bool {
        self.mendings += 1;
        self.fails_at != Some(self.mendings - 1)
    }
}

/// The world: heads, their site, their administration.
#[derive(Clone)]
pub struct World {
    broken: Arc<Mutex<Broken>>,
    pub clock: Clock,
    pub notes: PathBuf,
    pub file: Arc<ClusterFile>,
    /// What is asked of heads, site, administration and client, in order.
    pub wire: Wire,
    pub story: Option<Arc<Recorded>>,
    /// Somebody presses Ctrl-C when more than so much was asked.
    pub interrupted_after: Option<usize>,
    /// Nobody misses what is broken in it.
    pub expendable: bool,
    /// Its heads are real ones: nobody looks at them from outside, and their fence devices are asked through each other.
    pub real: bool,
    /// Its heads have kernels of their own: nobody looks at them from outside, and one that hangs answers nobody.
    pub kernels: bool,
    /// What its site declines it does a moment later.
    pub later: bool,
    /// Why its heads cannot break what they are asked to.
    pub unfit: Option<String>,
    /// Its pools lie on one disk each.
    pub no_copy: bool,
    /// Healed, it is whole after so many seconds.
    pub whole_after_s: f64,
    /// How long its site takes to give a head power.
    pub power_takes: Duration,
    /// Each of the client's writers has a write acknowledged so often, in microseconds.
    pub writes_every_us: u64,
}

impl World {
    pub fn broken(&self) -> MutexGuard<'_, Broken> {
        self.broken.lock().unwrap()
    }

    /// What happens in it.
    ///
    /// # Panics
    /// Nothing does.
    pub fn story(&self) -> &Recorded {
        self.story.as_ref().expect("a world with a story")
    }

    /// The same world, as it is for another process: whoever was cut off is not any more.
    pub fn again(&self) -> Self {
        let wire = Wire::of(self.clock.clone());
        let world = Self {
            wire,
            ..self.clone()
        };
        for head in &world.broken().off {
            world.wire.lose(head.clone());
        }
        world
    }

    pub fn now(&self) -> Moment {
        self.clock.time_of_day()
    }

    /// Why a head cannot break that.
    pub fn unfit(&self, fault: &HostFault) -> Option<String> {
        let needs_copy = match fault {
            HostFault::Disks { extent, .. } => match extent {
                Extent::Behind { needs_copy, .. } => *needs_copy,
                extent => *extent != Extent::OnePath,
            },
            _ => false,
        };
        let single = (self.no_copy && needs_copy).then(|| "no other disk has it".to_owned());
        self.unfit.clone().or(single)
    }

    /// Whether anything was ever broken.
    pub fn is_made(&self) -> bool {
        self.broken().made
    }

    /// What is asked of site or administration.
    pub fn asked(&self, who: &str, what: &'static str) -> Result<(), SiteError> {
        match self.wire.carry(&who.into(), what) {
            Carried::Through => Ok(()),
            Carried::Declined => Err(SiteError {
                why: "planted".into(),
                later: self.later,
            }),
            Carried::Cut => Err(SiteError::for_good("nobody can be asked")),
        }
    }

    pub fn cuts_power(&self, head: &HostName) {
        {
            let mut broken = self.broken();
            broken.off.insert(head.clone());
            // What it had broken on itself is gone with its memory.
            broken.on_heads.retain(|(name, _)| name != head);
        }
        self.wire.lose(head.clone());
        self.breaks(true);
    }

    pub fn gives_power(&self, head: &HostName) {
        if self.broken().off.remove(head) || self.is_shot(head) {
            self.broken().on.insert(head.clone(), self.now());
            self.wire.find(head);
            self.mends();
        }
    }

    /// A fence device switches an outlet of its own that feeds a head, and answers whether it gives power then. A head is
    /// off when all of its outlets are.
    pub fn outlet(&self, device: &str, head: &HostName, on: Option<bool>) -> bool {
        let outlet = (device.to_owned(), head.clone());
        let dark = {
            let mut broken = self.broken();
            match on {
                Some(true) => drop(broken.outlets_off.remove(&outlet)),
                Some(false) => drop(broken.outlets_off.insert(outlet.clone())),
                None => {}
            }
            let of_head = broken.outlets_off.iter().filter(|(_, it)| it == head);
            of_head.count()
        };
        match on {
            Some(true) => self.gives_power(head),
            Some(false) if dark == switches(&self.file, head.as_str()).concat().len() => {
                self.cuts_power(head);
            }
            _ => {}
        }
        self.is_on(head) && !self.broken().outlets_off.contains(&outlet)
    }

    /// Something is broken, which takes as long as it took.
    pub fn breaks(&self, power: bool) {
        self.broken().made = true;
        // Who looks meanwhile at real heads asks the one that is busy with it.
        let story = self.story.as_ref().filter(|_| !self.real);
        if let Some(fault) = story.and_then(|it| it.fault(power)) {
            let takes = fault.made.0 - fault.ordered.0;
            self.clock.sleep(Duration::from_micros(takes));
        }
    }

    pub fn mends(&self) {
        self.broken().mended = self.now();
    }

    /// What showed that something was broken.
    pub fn evidence(&self, power: bool) -> String {
        let fault = self.story.as_ref().and_then(|it| it.fault(power));
        fault.map_or("it is there".to_owned(), |it| it.evidence.clone())
    }

    /// Where a head has pools mounted.
    pub fn mounts(&self, head: &HostName) -> Vec<String> {
        let pools = self.story().pools_of(head, self.now(), self.is_made());
        let directory = |pool: &String| {
            let pool = self.file.pools.iter().find(|it| *it.name == *pool);
            pool.unwrap().directory.as_ref().unwrap().to_string()
        };
        pools.iter().map(directory).collect()
    }

    /// Whether the cluster shot a head, which nobody has switched on since.
    pub fn is_shot(&self, head: &HostName) -> bool {
        let (made, on) = {
            let broken = self.broken();
            (broken.made, broken.on.get(head).copied())
        };
        let story = self.story.as_ref().filter(|_| made);
        story.is_some_and(|it| it.shot(head, on.unwrap_or_default(), self.now()))
    }

    /// Whether nothing runs on a head.
    pub fn hangs(&self, head: &HostName) -> bool {
        let hung = |it: &SiteFault| matches!(it, SiteFault::Hung { host } if host == head);
        self.broken().around.iter().any(hung)
    }

    pub fn is_on(&self, head: &HostName) -> bool {
        !self.broken().off.contains(head) && !self.is_shot(head)
    }

    pub fn is_whole(&self) -> bool {
        let heads = self
            .file
            .nodes
            .iter()
            .all(|node| self.is_on(node.name.get()));
        let broken = self.broken();
        if !broken.made {
            return true;
        }
        let now = self.now();
        // One that will shoot is not.
        let calm = self.story().power().all(|event| event.at <= now);
        heads && calm && broken.is_nothing() && now.since(broken.mended) >= self.whole_after_s
    }
}

/// A cluster file, and a folder for notes.
pub struct Bench {
    file: Arc<ClusterFile>,
    pub notes: TempDir,
}

/// The file of the lab whose drills were recorded.
const FILE: &str = "../../examples/lab/hawser.toml";

impl Bench {
    pub fn new() -> Self {
        Self::edited(|text| text)
    }

    /// The same of another cluster file: the lab's, with something changed.
    pub fn edited(edit: impl FnOnce(String) -> String) -> Self {
        let text = edit(fs::read_to_string(FILE).unwrap());
        Self {
            file: Arc::new(parse_complete(&text, FILE).unwrap_or_else(|errors| panic!("{errors}"))),
            notes: tempfile::tempdir().unwrap(),
        }
    }

    /// The world of a recorded drill, at this time.
    pub fn recorded(&self, story: &Arc<Recorded>, now: Moment) -> World {
        let clock = Clock::simulated();
        clock.sleep(Duration::from_micros(now.0));
        World {
            story: Some(story.clone()),
            ..self.world(&clock)
        }
    }

    /// A world in which nothing is broken, and everybody waits by this clock.
    pub fn world(&self, clock: &Clock) -> World {
        World {
            clock: clock.clone(),
            broken: Arc::default(),
            notes: self.notes.path().to_owned(),
            file: self.file.clone(),
            wire: Wire::of(clock.clone()),
            story: None,
            interrupted_after: None,
            expendable: true,
            later: false,
            unfit: None,
            no_copy: false,
            real: false,
            kernels: false,
            whole_after_s: WHOLE_AFTER_S,
            power_takes: Duration::ZERO,
            writes_every_us: WRITES_EVERY_US,
        }
    }

    /// Makes the context of a drill whose client is reached in this way, on another machine.
    pub fn with<T>(
        &self,
        world: &World,
        client: Box<dyn Reach>,
        work: impl FnOnce(&mut DrillContext<'_>) -> T,
    ) -> T {
        let hosts = Reconnecting::new(world);
        let client_config = ClientConfig {
            host: "client1".into(),
            way: client,
            remote: true,
            volume: Volume::default(),
            initiator: None,
            chap: None,
            load: Load::USUAL,
            create: false,
        };
        let after = world.interrupted_after;
        let interrupted = || u32::from(after.is_some_and(|after| world.wire.count() > after));
        let real = world.real.then(|| {
            let real = RealHeads::new(&self.file, &hosts).unwrap();
            real.with_notes_in(world.notes.clone())
        });
        let site = real.as_ref().map_or(world as &dyn Site, |it| it);
        site.prepare().unwrap();
        let context = DrillContext::set(
            &hosts,
            site,
            &self.file,
            world,
            &interrupted,
            None,
            client_config,
        );
        let mut context = context.unwrap();
        // Each look costs a simulated drill more than all else, and more of them show no more.
        context.looks_every = Duration::from_millis(500);
        work(&mut context)
    }
}
