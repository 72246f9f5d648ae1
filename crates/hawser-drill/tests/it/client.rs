//! What a drill makes of its client: one that writes, one that is refused, one that is lost.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::time::Duration;

use hawser_client::Client as Verifier;
use hawser_client::check::{HistoryVerdict, Rules, check};
use hawser_client::job::OpenUnit;
use hawser_client::load::Load;
use hawser_client::questions::QUESTIONS;
use hawser_client::stamp::Page;
use hawser_client::target::Target;
use hawser_client::volume::{Event, Facts, Order, Volume};
use hawser_drill::DrillError;
use hawser_drill::client::{Client, Left};
use hawser_drill::context::DrillContext;
use hawser_host::sim::{Simulated, Wire};
use hawser_host::{Clock, Host, HostError, Reach};
use hawser_model::names::HostName;

use crate::bench::Bench;

/// The client itself, whose units are not behind a network.
struct Way {
    open: OpenUnit,
    wire: Wire,
}

impl Reach for Way {
    fn connect(&self, host: &HostName) -> Result<Box<dyn Host>, HostError> {
        let client = Verifier::new(self.open);
        let client = Simulated::new(host.clone(), client, QUESTIONS, &self.wire);
        Ok(Box::new(client))
    }
}

/// A unit in memory.
#[derive(Default)]
struct Memory {
    held: BTreeMap<u32, Page>,
    events: Vec<Event>,
    up: bool,
}

impl Volume for Memory {
    fn send(&mut self, number: u64, order: &Order) {
        let page = match order {
            Order::Write { pages, .. } => {
                self.held.extend(order.blocks().zip(pages.iter().cloned()));
                None
            }
            Order::Read { block } => Some(
                self.held
                    .get(block)
                    .cloned()
                    .map_or_else(Page::zeroed, Box::new),
            ),
            Order::Flush => None,
        };
        self.events.push(Event::Done(number, page));
    }

    fn wait(&mut self, patience: Duration, events: &mut Vec<Event>) -> io::Result<()> {
        if !std::mem::replace(&mut self.up, true) {
            events.extend([Event::Connected(0), Event::PathUp(0)]);
        }
        if self.events.is_empty() {
            std::thread::sleep(patience);
        }
        events.append(&mut self.events);
        Ok(())
    }

    fn facts(&self) -> Option<Facts> {
        Some(Facts {
            blocks: 4096,
            cache: true,
        })
    }

    fn ready(&self) -> bool {
        self.up
    }
}

/// A unit whose target knows nobody.
struct Refusing(String);

impl Volume for Refusing {
    fn send(&mut self, _: u64, _: &Order) {}

    fn wait(&mut self, patience: Duration, events: &mut Vec<Event>) -> io::Result<()> {
        std::thread::sleep(patience);
        let why = "log in: Status: Target not found(515)\n".to_owned();
        events.push(Event::LoginRefused(self.0.clone(), why));
        Ok(())
    }

    fn facts(&self) -> Option<Facts> {
        None
    }

    fn ready(&self) -> bool {
        false
    }
}

fn memory(_: &Target, _: u8, _: u64) -> Box<dyn Volume> {
    Box::new(Memory::default())
}

fn refusing(target: &Target, _: u8, _: u64) -> Box<dyn Volume> {
    Box::new(Refusing(target.portals[0].to_string()))
}

/// The client is simulated, and its writers take time.
fn real() -> Wire {
    Wire::of(Clock::default())
}

/// Makes the context of a client that opens its units so.
fn in_context(open: OpenUnit, wire: &Wire, work: impl FnOnce(&mut DrillContext<'_>)) {
    let bench = Bench::new();
    let wire = wire.clone();
    let world = bench.world(&Clock::default());
    bench.with(&world, Box::new(Way { open, wire }), |context| {
        work(context);
    });
}

/// A beat of the client is half a second.
const STEADY: Duration = Duration::from_secs(1);

const SOON: Duration = Duration::from_secs(60);

/// What a client leaves that wrote for a while and stopped, with the judgement, which is good.
fn written(context: &DrillContext<'_>) -> (Left, HistoryVerdict) {
    let mut client = Client::start(context).unwrap();
    let steady = client.wait_steady(context, context.now(), STEADY, SOON);
    assert!(steady.unwrap());
    let left = client.stop(context).unwrap();
    let verdict = check(&left.history, Rules::default());
    assert!(verdict.is_clean(), "{verdict:?}");
    (left, verdict)
}

#[test]
fn a_client_that_wrote_leaves_a_history_and_how_its_clock_stood() {
    in_context(memory, &real(), |context| {
        let (left, verdict) = written(context);
        assert!(verdict.acknowledged > 0 && verdict.read_back > 0);
        assert!(left.complaints.is_empty(), "{:?}", left.complaints);
        // It is this machine's clock that was compared, by whatever a busy machine lets pass between two looks at it.
        let apart = left.clock.offset_us.unsigned_abs();
        assert!(apart < 60_000_000, "{:?}", left.clock);
    });
}

#[test]
fn a_client_writes_as_heavily_as_it_is_told_to() {
    in_context(memory, &real(), |context| {
        context.client_config.load = Load {
            writers: 3,
            size: 4,
            ..Load::USUAL
        };
        let (left, verdict) = written(context);
        assert_eq!(verdict.acknowledged % 4, 0);
        let writers: BTreeSet<u8> = left.history.iter().map(|it| it.writer).collect();
        assert_eq!(writers, BTreeSet::from([0, 1, 2]));
    });
}

#[test]
fn a_client_whose_unit_is_too_small_says_by_how_much() {
    in_context(memory, &real(), |context| {
        context.client_config.load.blocks = 4096;
        let why = Client::start(context).err().unwrap().to_string();
        let lacks = "4096 blocks of 4 KiB, and 8192 are needed (32 MiB)";
        assert!(why.contains(lacks), "{why}");
    });
}

#[test]
fn a_client_that_is_refused_all_the_time_is_told_what_to_do() {
    in_context(refusing, &real(), |context| {
        let why = Client::start(context).err().unwrap().to_string();
        let portal = context.portals()[0];
        let refused = format!("{} at {portal} refused the client", context.target());
        assert!(why.starts_with(&refused), "{why}");
        assert!(
            why.contains("Target not found(515); if exports.toml"),
            "{why}"
        );
    });
}

#[test]
fn a_client_that_is_lost_is_named() {
    let wire = real();
    in_context(memory, &wire, |context| {
        let mut client = Client::start(context).unwrap();
        wire.lose(context.client.clone());
        let lost = client.wait_steady(context, context.now(), STEADY, SOON);
        let Err(DrillError::CouldNot(why)) = lost else {
            panic!("{lost:?}");
        };
        assert!(
            why.starts_with("the client on client1 ended by itself: "),
            "{why}"
        );
    });
}
