//! A cluster engine whose own sockets drop: what is tried on the running one, what by a restart, and what is never done.

use std::sync::{Arc, MutexGuard};

use hawser_cluster::host::view::{Quorum, Told};
use hawser_cluster::host::{Content, HeadView, OwnedFile};
use hawser_cluster::simulate::Answer;
use hawser_host::Declined;
use hawser_host::sim::Wire;
use hawser_model::case::{Case, Stopped};
use hawser_model::host::CorosyncFacts;
use hawser_model::knob::{Knob, Standing};
use hawser_model::names::HostName;
use hawser_model::sockets::SocketFacts;
use hawser_model::trial::{Trial, Tuning};
use hawser_model::units::{Bytes, Packets};

use crate::world::{World, telling, tuned_by};

/// What kronosnet asks for, as the kernel grants it.
const WHOLE: u64 = 16 << 20;

const LIMIT: &str = "net.core.rmem_max";

/// The Corosync of head2. With a buffer smaller than it asks for it drops, if a buffer is what it lacks.
#[derive(Clone, Debug)]
pub struct Engine {
    pid: u32,
    /// The buffer with which its socket was left.
    buffer: u64,
    drops: u64,
    received: u64,
    /// How often it was started again.
    restarts: u32,
    /// Something is sent to it that it could drop.
    load: bool,
    /// A larger buffer is what it lacks.
    helps: bool,
    /// The other node could take nothing over.
    other_in_standby: bool,
}

impl Default for Engine {
    fn default() -> Self {
        Self {
            pid: 17,
            buffer: 2_304,
            drops: 1_493,
            received: 0,
            restarts: 0,
            load: true,
            helps: true,
            other_in_standby: false,
        }
    }
}

impl Engine {
    /// A socket that is opened anew has another inode.
    fn inode(&self) -> u64 {
        4_711 + 10 * u64::from(self.restarts)
    }

    fn knob(&self) -> Knob {
        Knob::SocketBuffer {
            process: "corosync".into(),
            local: ([10, 77, 0, 2], 5405).into(),
            inode: self.inode(),
        }
    }
}

impl World {
    fn engine(&self) -> Option<MutexGuard<'_, Engine>> {
        self.engine.as_ref().map(|engine| engine.lock().unwrap())
    }

    fn limit(&self) -> u64 {
        let knob = Knob::Sysctl { name: LIMIT.into() };
        self.value(&"head2".into(), &knob).parse().unwrap()
    }

    /// A knob's value before any change.
    pub fn engine_before(&self, knob: &Knob) -> Option<String> {
        let engine = self.engine()?;
        match knob {
            Knob::SocketBuffer { .. } => Some(engine.buffer.to_string()),
            Knob::Sysctl { name } if name == LIMIT => Some("4194304".to_owned()),
            _ => None,
        }
    }

    /// Whether it is of a socket that is closed.
    pub fn is_gone(&self, knob: &Knob) -> bool {
        let of_socket = matches!(knob, Knob::SocketBuffer { .. });
        of_socket && self.engine().is_none_or(|engine| engine.knob() != *knob)
    }

    fn buffer(&self) -> Option<u64> {
        let knob = self.engine()?.knob();
        self.value(&"head2".into(), &knob).parse().ok()
    }

    pub fn engine_drops_nothing(&self) -> bool {
        self.buffer().is_some_and(|buffer| buffer >= WHOLE)
    }

    pub fn sockets(&self, host: &HostName) -> Vec<SocketFacts> {
        let Some(buffer) = self.buffer().filter(|_| host.as_str() == "head2") else {
            return Vec::new();
        };
        let mut engine = self.engine().unwrap();
        if engine.load {
            engine.received += 1_000;
            engine.drops += match engine.helps && buffer >= WHOLE {
                true => 0,
                false => 300 + engine.received / 1_000 % 7,
            };
        }
        vec![SocketFacts {
            inode: engine.inode(),
            local: ([10, 77, 0, 2], 5405).into(),
            process: Some("corosync".into()),
            pid: Some(engine.pid),
            receive_buffer: Bytes(buffer),
            send_buffer: Bytes(8 << 20),
            receive_queued: Bytes::ZERO,
            drops: Packets(engine.drops),
        }]
    }

    pub fn corosync(&self, host: &HostName) -> Option<CorosyncFacts> {
        let engine = self.engine()?;
        let count = |key: &str, number: u64| (key.to_owned(), number.to_string());
        let stats = [
            count("stats.knet.node1.link0.connected", 1),
            count("stats.knet.node1.link0.rx_data_packets", engine.received),
            count("stats.srp.mcast_retx", engine.drops / 3),
        ];
        Some(CorosyncFacts {
            pid: match host.as_str() {
                "head2" => engine.pid,
                _ => 30,
            },
            stats: stats.into(),
            ..CorosyncFacts::default()
        })
    }

    /// It opens its socket with what the limit grants: the kernel doubles what kronosnet is content with.
    pub fn restarted(&self, host: &HostName) -> Result<(), Declined> {
        assert_eq!(host.as_str(), "head2");
        let granted = 2 * self.limit().min(WHOLE / 2);
        let mut engine = self.engine().ok_or("no engine runs")?;
        assert!(!engine.other_in_standby, "redundancy was gone already");
        *engine = Engine {
            pid: engine.pid + 100,
            buffer: granted,
            drops: 0,
            received: 0,
            restarts: engine.restarts + 1,
            ..engine.clone()
        };
        Ok(())
    }

    /// What Pacemaker's scheduler says: nothing is to do, and head1 serves.
    pub fn simulated(&self) -> Answer {
        let standby = self.engine().is_some_and(|engine| engine.other_in_standby);
        let node = |name: &str, standby: bool| {
            format!(
                r#"<node name="{name}" online="true" standby="{standby}" unclean="false" maintenance="false" pending="false"/>"#
            )
        };
        let picture = format!(
            r#"<nodes>{}{}</nodes><resources><resource id="pool1-fs"><node name="head1"/></resource></resources>"#,
            node("head1", standby),
            node("head2", false),
        );
        Answer {
            before: None,
            report: format!(
                "<pacemaker-result><cluster_status>{picture}</cluster_status><transition/>\
                 <revised_cluster_status>{picture}</revised_cluster_status></pacemaker-result>"
            ),
            graph: String::new(),
            cib_after: String::new(),
        }
    }

    fn restarts(&self) -> u32 {
        self.engine().unwrap().restarts
    }
}

/// Both heads are members of one cluster with quorum.
pub fn view(host: &HostName) -> HeadView {
    HeadView {
        corosync: true,
        pacemaker: true,
        quorum: Some(Told::Said(Quorum {
            quorate: true,
            ring: "1.2f".into(),
            local: if host.as_str() == "head1" { 1 } else { 2 },
            members: [1, 2].into(),
        })),
        controller: Some(Told::Said("S_IDLE".into())),
        cib: Some(Told::Said(
            r#"<cib have-quorum="1" dc-uuid="1"><configuration/></cib>"#.into(),
        )),
        ..HeadView::default()
    }
}

pub fn corosync_conf() -> OwnedFile {
    let text = "quorum {\n  two_node: 1\n}\nnodelist {\n  node {\n    nodeid: 1\n  }\n  node {\n    nodeid: 2\n  }\n}\n";
    OwnedFile {
        mode: 0o644,
        content: Content(text.into()),
    }
}

/// The case whose check the engine ended, as it does when it sends messages again.
fn world(engine: Engine) -> Arc<World> {
    let mut case: Case = hawser_cases::read("corosync-buffer-shrunk");
    case.stopped = Some(Stopped {
        host: "head1".into(),
        what: "stats.srp.mcast_retx rose".into(),
    });
    World::of(case, Some(engine))
}

fn buffer_knob() -> String {
    "receive buffer of corosync 10.77.0.2:5405".to_owned()
}

fn trial<'a>(tuning: &'a Tuning, knob: &str) -> &'a Trial {
    let mut all = tuning.trials.iter();
    all.find(|trial| trial.knob.to_string() == knob)
        .expect("it is listed")
}

fn why_not(tuning: &Tuning, knob: &str) -> String {
    trial(tuning, knob).not_tried.clone().unwrap_or_default()
}

#[test]
fn the_running_engine_gets_its_buffer_and_nothing_is_started_again_unasked() {
    let world = world(Engine::default());
    let tuning = tuned_by(&world, &Wire::default(), false).unwrap();
    assert_eq!(world.turned(), [(buffer_knob(), true)]);
    assert_eq!(world.restarts(), 0);
    let kept = trial(&tuning, &buffer_knob());
    assert_eq!(kept.to.as_deref(), Some("16777216"));
    let with = kept.pairs.iter().map(|pair| pair.with);
    assert!(with.clone().all(|window| window.lost == Packets::ZERO));
    assert!(
        kept.pairs
            .iter()
            .all(|pair| pair.without.lost >= Packets(300))
    );
    // The order was a coin's, which falls on each side in turn here.
    assert!(kept.pairs.iter().any(|pair| pair.with_first));
    assert!(why_not(&tuning, LIMIT).contains("--restart-engine"));
    assert_eq!(tuning.trials.len(), 2, "the check was stopped");
    let again: Option<u64> = with.map(|window| window.retransmits).sum();
    assert_eq!(again, Some(0));
}

#[test]
fn with_a_restart_the_limit_lasts_and_the_closed_socket_is_forgotten() {
    let world = world(Engine::default());
    let tuning = tuned_by(&world, &Wire::default(), true).unwrap();
    assert_eq!(world.turned(), [(LIMIT.to_owned(), true)]);
    assert_eq!(world.restarts(), 1);
    let lasting = trial(&tuning, LIMIT);
    assert!(lasting.kept && lasting.restarted);
    assert_eq!(lasting.to.as_deref(), Some("8388608"));
    assert!(lasting.pairs.iter().all(|pair| !pair.with_first));
    assert!(!trial(&tuning, &buffer_knob()).kept);
}

#[test]
fn an_engine_that_somebody_needs_is_never_started_again() {
    let world = world(Engine {
        other_in_standby: true,
        ..Engine::default()
    });
    let tuning = tuned_by(&world, &Wire::default(), true).unwrap();
    assert_eq!(world.restarts(), 0);
    assert_eq!(world.turned(), [(buffer_knob(), true)]);
    let why = why_not(&tuning, LIMIT);
    assert!(why.contains("head1 is in standby"), "{why}");
}

#[test]
fn a_buffer_that_does_not_help_costs_no_restart_and_is_put_back() {
    let world = world(Engine {
        helps: false,
        ..Engine::default()
    });
    let tuning = tuned_by(&world, &Wire::default(), true).unwrap();
    assert_eq!(world.restarts(), 0);
    assert!(world.turned().is_empty());
    assert!(!trial(&tuning, &buffer_knob()).pairs.is_empty());
    assert!(why_not(&tuning, LIMIT).contains("not proven to help"));
}

#[test]
fn an_engine_that_drops_nothing_now_is_left_alone() {
    let world = world(Engine {
        load: false,
        ..Engine::default()
    });
    let wire = Wire::default();
    let tuning = tuned_by(&world, &wire, true).unwrap();
    assert!(wire.asked().iter().all(|(_, name)| *name != "try knob"));
    assert!(why_not(&tuning, LIMIT).contains("dropped nothing in 10 s"));
    assert!(why_not(&tuning, &buffer_knob()).contains("under the load"));
}

#[test]
fn a_tune_of_an_engine_that_is_killed_anywhere_leaves_nothing_on_trial() {
    let whole = Wire::default();
    tuned_by(&world(Engine::default()), &whole, true).unwrap();
    for number in telling(&whole) {
        let (world, wire) = (world(Engine::default()), Wire::default());
        wire.cut_before(number);
        tuned_by(&world, &wire, true).expect_err("it was cut off");
        world.guards();
        let turned = world.turned();
        assert!(
            turned.is_empty(),
            "killed before question {number}: {turned:?}"
        );
        let changes = world.changes();
        let mut all = changes.values().flatten();
        assert!(all.all(|change| change.standing == Standing::Kept));
    }
}
