//! The simulated hosts.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use hawser_agent::questions::{
    AnnounceHello, AskForOwn, ClosePathMtuResponder, CloseWindow, DropFlow, ExpectFrom,
    FinishReceiver, HearHellos, KeepChange, ListenHello, OpenPathMtuResponder, OpenReceiver,
    OpenSender, OpenWindow, ReadChanges, ReadCorosync, ReadFacts, ReadKnob, ReadSetup, ReadSockets,
    RunSender, SearchPathMtu, Sent, TryKnob, TurnKnob, UndoChange, WatchCluster,
};
use hawser_cluster::host::ViewQuestion;
use hawser_cluster::host::questions::{ReadFile, RestartEngine, Simulate};
use hawser_coordinator::check::Progress;
use hawser_coordinator::schedule::Direction;
use hawser_coordinator::traffic_plan::TrafficOptions;
use hawser_coordinator::tune::{self, TuneEnv, TuneError, tune};
use hawser_host::sim::{Simulated, Wire};
use hawser_host::{Declined, Host, HostError, Hosts};
use hawser_model::case::{Case, Phase};
use hawser_model::knob::{Change, Knob, RecordedChanges, Scope, Setting, Standing, Undone};
use hawser_model::names::{HostName, LinkName};
use hawser_model::probe::OwnAddresses;
use hawser_model::setup::HostSetup;
use hawser_model::trial::{Also, Trial, Tuning};
use hawser_model::units::Packets;

use crate::engine::{self, Engine};

/// What cures.
pub const CURE: &str = "net.core.rmem_default";

/// What it has to be at least: the buffer that the case says would have held a burst.
const ENOUGH: u64 = 131_072;

/// The hosts, and what has been turned on them.
pub struct World {
    pub case: Case,
    changes: Mutex<BTreeMap<HostName, Vec<Change>>>,
    number: Mutex<u64>,
    /// The Corosync of head2, where one runs.
    pub engine: Option<Mutex<Engine>>,
    /// What somebody else sets a knob to while it is tried.
    pub foreign: Mutex<Option<(String, String)>>,
    /// How much of what the case lost is still lost, as things are turned: of 1.
    left: Box<dyn Fn(&Self) -> f64 + Send + Sync>,
}

impl World {
    pub fn new() -> Arc<Self> {
        Self::of(hawser_cases::read("receive-buffer-too-small"), None)
    }

    /// One in which a knob, with some value, cures what the case shows.
    pub fn cured_by(case: Case, cure: fn(&Self) -> bool) -> Arc<Self> {
        Self::losing(case, move |world| if cure(world) { 0.0 } else { 1.0 })
    }

    /// One in which the knobs leave so much of what the case lost.
    pub fn losing(case: Case, left: impl Fn(&Self) -> f64 + Send + Sync + 'static) -> Arc<Self> {
        let mut world = Self::of(case, None);
        Arc::get_mut(&mut world).expect("it is new").left = Box::new(left);
        world
    }

    pub fn of(case: Case, engine: Option<Engine>) -> Arc<Self> {
        Arc::new(Self {
            case,
            changes: Mutex::default(),
            number: Mutex::new(0),
            engine: engine.map(Mutex::new),
            foreign: Mutex::default(),
            left: Box::new(|world| {
                let cure = Knob::Sysctl { name: CURE.into() };
                let value: u64 = world.value(&"head2".into(), &cure).parse().unwrap();
                if value >= ENOUGH { 0.0 } else { 1.0 }
            }),
        })
    }

    pub fn changes(&self) -> MutexGuard<'_, BTreeMap<HostName, Vec<Change>>> {
        self.changes.lock().unwrap()
    }

    /// What was lost in the case, of the flow that lost it.
    fn phase(&self) -> &Phase {
        &self.case.measurements[0].phases[1]
    }

    /// A knob's value: of the last change that is in force, else what it was.
    pub fn value(&self, host: &HostName, knob: &Knob) -> String {
        let changes = self.changes();
        let mut of_knob = changes.get(host).into_iter().flatten();
        let before = match knob.to_string() == CURE {
            true => "23040".to_owned(),
            false => self.engine_before(knob).unwrap_or_else(|| match knob {
                Knob::Offload { .. } => "on".to_owned(),
                Knob::Interrupts { .. } => "24=0-3 25=0-3".to_owned(),
                Knob::Channels { .. } => "rx 0 tx 0 other 1 combined 1".to_owned(),
                Knob::BootParameter { .. } => "absent".to_owned(),
                _ => "1".to_owned(),
            }),
        };
        let last = of_knob.rfind(|change| change.knob == *knob && change.persisted_in.is_some());
        last.map_or(before, |change| change.after.clone())
    }

    fn is_cured(&self) -> bool {
        (self.left)(self) == 0.0
    }

    /// How many arrive of so many.
    fn received(&self, sent: Packets) -> Packets {
        let phase = self.phase();
        let lost = phase.sender.sent.0 - phase.receiver.received.0;
        let lost = lost as f64 * (self.left)(self) * sent.0 as f64 / phase.sender.sent.0 as f64;
        Packets(sent.0.saturating_sub(lost.round() as u64))
    }

    /// Every agent is gone: its guard takes its trials back.
    pub fn guards(&self) {
        for changes in self.changes().values_mut() {
            changes.retain(|change| change.standing == Standing::Kept);
        }
    }

    /// Whether a knob of head2 is turned, and in force.
    pub fn has_turned(&self, knob: &str) -> bool {
        let changes = self.changes();
        let mut all = changes.get("head2").into_iter().flatten();
        all.any(|change| change.knob.to_string() == knob && change.persisted_in.is_some())
    }

    /// What is turned on any host now: knob, and whether it is kept.
    pub fn turned(&self) -> Vec<(String, bool)> {
        let changes = self.changes();
        let all = changes.values().flatten();
        let turned = all.map(|it| (it.knob.to_string(), it.standing == Standing::Kept));
        turned.collect()
    }
}

struct Node {
    host: HostName,
    world: Arc<World>,
}

impl Node {
    /// Works on one of the host's changes.
    fn change<T>(&self, number: u64, work: impl FnOnce(&mut Change) -> T) -> Result<T, Declined> {
        let mut changes = self.world.changes();
        let mut own = changes.entry(self.host.clone()).or_default().iter_mut();
        let found = own.find(|change| change.number == number);
        Ok(work(found.ok_or("no such change")?))
    }
}

hawser_host::answers! {
    Node;
    ReadFacts: |_, node| node.world.case.hosts[&node.host].clone();
    ReadSetup: |_, _| HostSetup::default();
    ReadSockets: |_, node| node.world.sockets(&node.host);
    ReadCorosync: |_, node| node.world.corosync(&node.host);
    ViewQuestion: |_, node| engine::view(&node.host);
    Simulate: |_, node| node.world.simulated();
    ReadFile: |_, _| Some(engine::corosync_conf());
    WatchCluster: |_, _| None;
    RestartEngine: |_, node| node.world.restarted(&node.host)?;
    OpenReceiver: |_, _| 5000;
    OpenSender: |_, _| 6000;
    ExpectFrom: |_, _| ();
    OpenWindow: |_, _| ();
    DropFlow: |_, _| ();
    RunSender: |_, node| Sent {
        report: node.world.phase().sender.clone(),
        stopped: None,
    };
    FinishReceiver: |ask, node| {
        let mut report = node.world.phase().receiver.clone();
        // The other direction never lost anything.
        if node.host.as_str() == "head1" || node.world.is_cured() {
            report.received = ask.sent;
            report.socket_drops = Packets::ZERO;
            report.loss_runs_by_length.clear();
        } else {
            report.received = node.world.received(ask.sent);
        }
        report
    };
    CloseWindow: |_, node| {
        let mut window = match node.host.as_str() {
            "head1" => node.world.phase().sender_window.clone(),
            _ => node.world.phase().receiver_window.clone(),
        };
        if node.world.is_cured() {
            window.drops = Some(Vec::new());
        }
        if node.world.engine_drops_nothing() {
            window.sockets.clear();
        }
        window
    };
    OpenPathMtuResponder: |_, _| 7000;
    ClosePathMtuResponder: |_, _| ();
    SearchPathMtu: |_, node| {
        node.world.case.measurements[0].path_mtu.clone().ok_or("not in the case")?
    };
    ListenHello: |_, _| ();
    AnnounceHello: |_, _| ();
    HearHellos: |_, _| Vec::new();
    AskForOwn: |_, _| OwnAddresses::default();
    ReadChanges: |_, node| RecordedChanges {
        changes: node.world.changes().get(&node.host).cloned().unwrap_or_default(),
        unreadable: Vec::new(),
    };
    ReadKnob: |ask, node| Setting {
        value: node.world.value(&node.host, &ask.0),
        scope: Scope::Interface,
        largest: Some(match &ask.0 {
            Knob::Channels { .. } => "rx 0 tx 0 other 1 combined 8".into(),
            _ => "4096".into(),
        }),
        at_boot: matches!(
            ask.0,
            Knob::BootParameter { .. } | Knob::ModuleParameter { .. }
        ),
    };
    TryKnob: |ask, node| {
        let before = node.world.value(&node.host, &ask.knob);
        let mut number = node.world.number.lock().unwrap();
        *number += 1;
        let change = Change {
            number: *number,
            scope: Scope::Interface,
            knob: ask.knob,
            before,
            after: ask.value,
            standing: Standing::Trial,
            persisted_in: Some(IN_FORCE.into()),
            not_persisted: None,
            together: Vec::new(),
        };
        node.world.changes().entry(node.host.clone()).or_default().push(change.clone());
        change
    };
    TurnKnob: |ask, node| node.change(ask.change, |change| {
        change.persisted_in = ask.after.then(|| IN_FORCE.into());
    })?;
    KeepChange: |ask, node| node.change(ask.change, |change| {
        change.standing = Standing::Kept;
        change.clone()
    })?;
    UndoChange: |ask, node| {
        let change = node.change(ask.0, |change| change.clone())?;
        let mut changes = node.world.changes();
        changes.entry(node.host.clone()).or_default().retain(|it| it.number != ask.0);
        let gone = node.world.is_gone(&change.knob);
        let foreign = node.world.foreign.lock().unwrap().clone();
        let foreign = foreign.filter(|(knob, _)| *knob == change.knob.to_string());
        Undone { change, left_at: foreign.map(|(_, value)| value), gone }
    };
}

/// Where a change that is in force now is written, in these tests.
const IN_FORCE: &str = "the kernel";

/// Nothing beyond the nodes; a coin that falls on each side in turn.
#[derive(Default)]
struct Around {
    coin: AtomicBool,
    restart_engine: bool,
}

impl Progress for Around {
    fn begin(&self, _: usize) {}
    fn measured(&self, _: &Direction) {}
    fn lost(&self, _: &HostError) {}
}

impl TuneEnv for Around {
    fn announce(&self, _: &HostName, _: &Knob, _: &str) -> Result<(), String> {
        Ok(())
    }

    fn ports(&self, _: &LinkName) -> Vec<Also> {
        Vec::new()
    }

    fn on_switch(&self, _: &HostName, _: &mut dyn FnMut(&mut dyn Host)) {}

    fn may_restart_engine(&self) -> bool {
        self.restart_engine
    }

    fn coin(&self) -> bool {
        self.coin.fetch_xor(true, Ordering::Relaxed)
    }

    fn trial_begins(&self, _: &Trial, _: usize, _: usize) {}
    fn trial_ended(&self, _: &Trial) {}
}

fn hosts(world: &Arc<World>, wire: &Wire) -> Hosts {
    let host = |name: &str| -> (HostName, Box<dyn Host>) {
        let node = Node {
            host: name.into(),
            world: world.clone(),
        };
        let host = Simulated::new(name.into(), node, QUESTIONS, wire);
        (name.into(), Box::new(host))
    };
    ["head1", "head2"].map(host).into()
}

/// What would be tried.
pub fn dry_run(world: &Arc<World>, wire: &Wire) -> Result<Tuning, TuneError> {
    tune::dry_run(&mut hosts(world, wire), &world.case)
}

/// Tunes; afterwards the agents are still there.
pub fn tuned(world: &Arc<World>, wire: &Wire) -> Result<Tuning, TuneError> {
    tuned_by(world, wire, false)
}

/// The same, where the engine may be started again.
pub fn tuned_by(
    world: &Arc<World>,
    wire: &Wire,
    restart_engine: bool,
) -> Result<Tuning, TuneError> {
    tune(
        &mut hosts(world, wire),
        &world.case,
        &TrafficOptions::default(),
        None,
        &Around {
            restart_engine,
            ..Around::default()
        },
        1,
    )
}

/// The numbers of the questions that matter: each about a knob or a change, and of those that come round again the
/// first and the last.
pub fn telling(wire: &Wire) -> Vec<usize> {
    let telling = [
        "changes",
        "read knob",
        "try knob",
        "keep change",
        "undo change",
        "restart the cluster",
    ];
    let (asked, rounds) = (wire.asked(), wire.rounds());
    let all = asked.iter().enumerate();
    let chosen = all.filter(|(number, (_, name))| {
        telling.contains(name) || rounds.binary_search(number).is_ok()
    });
    chosen.map(|(number, _)| number).collect()
}
