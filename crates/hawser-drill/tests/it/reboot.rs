//! A real head that reboots in good order: it has power all the time and answers nobody for minutes, and yet is known to
//! have had no pool.

use std::fs;
use std::sync::{Arc, Mutex};

use hawser_cluster::host::drill::{HostFault, Look};
use hawser_cluster::host::questions::{LookAround, MakeFault, ShowFault};
use hawser_drill::by_agent::ByAgent;
use hawser_drill::context::Watched;
use hawser_drill::heads::RealHeads;
use hawser_host::sim::{Simulated, Wire};
use hawser_host::site::{HostLook, Site, SiteFault, Watcher};
use hawser_host::{Clock, Host, HostError, Reach, Reconnecting};
use hawser_model::cluster_file::parse_complete;
use hawser_model::drill::Moment;
use hawser_model::names::HostName;

/// What all looks at the head find, and what it was told to break.
#[derive(Default)]
struct State {
    mounts: Vec<String>,
    engine_us: Option<u64>,
    made: Vec<HostFault>,
}

struct Head(Arc<Mutex<State>>);

hawser_host::answers! {
    Head;
    LookAround: |ask, head| {
        let state = head.0.lock().unwrap();
        Look {
            mounts: state.mounts.clone(),
            clock_us: 0,
            engine_us: state.engine_us.filter(|_| ask.engine),
            nfs_grace: false,
        }
    };
    MakeFault: |ask, head| {
        head.0.lock().unwrap().made.push(ask.fault);
    };
    ShowFault: |_, _| None;
}

/// One head, and the wire to it: another one after each boot.
struct World {
    state: Arc<Mutex<State>>,
    wire: Mutex<Wire>,
    clock: Clock,
}

impl World {
    fn becomes(&self, mounts: &[&str], engine_us: Option<u64>) {
        let mut state = self.state.lock().unwrap();
        state.mounts = mounts.iter().map(|place| (*place).to_owned()).collect();
        state.engine_us = engine_us;
    }

    fn falls_silent(&self) {
        self.wire.lock().unwrap().lose("head1".into());
    }

    fn answers_again(&self) {
        *self.wire.lock().unwrap() = Wire::of(self.clock.clone());
    }
}

impl Reach for World {
    fn connect(&self, host: &HostName) -> Result<Box<dyn Host>, HostError> {
        let (head, wire) = (Head(self.state.clone()), self.wire.lock().unwrap());
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

/// Since when the engine of a head that was looked at runs again, where it did not.
fn engine_since(seen: HostLook) -> Option<Moment> {
    match seen {
        HostLook::Mounts { engine_since, .. } => engine_since,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_head_that_stopped_its_cluster_has_no_pool_until_its_engine_runs_again() {
    let path = "../../examples/lab/hawser.toml";
    let text = fs::read_to_string(path).unwrap();
    let file = parse_complete(&text, path).unwrap_or_else(|errors| panic!("{errors}"));
    let pool = file.pools[0].directory.as_ref().unwrap().as_str();
    let clock = Clock::simulated();
    let world = World {
        state: Arc::default(),
        wire: Mutex::new(Wire::of(clock.clone())),
        clock: clock.clone(),
    };
    let hosts = Reconnecting::new(&world);
    let site = RealHeads::new(&file, &hosts).unwrap();
    let (head, fault) = (HostName::from("head1"), HostFault::Reboot);
    let reboot = [SiteFault::Reboot { host: head.clone() }];

    // It has the pool, and nobody asks for its engine.
    world.becomes(&["/", pool], Some(1_000_000_000));
    let watched = Watched::of(&file);
    let mut watcher = ByAgent::of(&hosts, &site, &watched, &head);
    assert!(
        site.watcher(&head).is_none(),
        "nobody looks at a real head from outside"
    );
    assert_eq!(engine_since(watcher.look()), None);

    site.break_now(&reboot).unwrap();
    assert_eq!(world.state.lock().unwrap().made, [fault]);
    assert_eq!(site.shows(&reboot).unwrap(), None);

    // The pool is gone, the engine still runs: whoever does not answer then may have got a pool.
    world.becomes(&["/"], Some(1_000_000_000));
    for _ in 0..2 {
        assert_eq!(engine_since(watcher.look()), None);
    }
    world.becomes(&["/"], None);
    assert_eq!(engine_since(watcher.look()), None);

    world.falls_silent();
    assert_eq!(watcher.look(), HostLook::Unknown);
    let shown = site.shows(&reboot).unwrap();
    assert_eq!(shown.as_deref(), Some("head1 does not answer"));

    clock.sleep(std::time::Duration::from_secs(200));
    world.answers_again();
    world.becomes(&["/", pool], Some(3_000_000));
    assert_eq!(watcher.look(), HostLook::Unknown);
    let now = clock.time_of_day();
    let since = engine_since(watcher.look());
    assert_eq!(since, Some(Moment(now.0 - 3_000_000)));
    assert_eq!(engine_since(watcher.look()), None);
}
