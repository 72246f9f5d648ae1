//! A writer that cannot send anything waits for an event: it does not look again and again.

mod support;

use std::io;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use hawser_client::history::Log;
use hawser_client::load::Load;
use hawser_client::stamp::Page;
use hawser_client::volume::{Event, Facts, Order, Volume};
use hawser_client::writer::{Shared, Writer, WriterPlan};

/// The longest wait of a writer.
const LONGEST: Duration = Duration::from_millis(20);
/// So many waits are looked at.
const WAITS: usize = 5;

/// A volume that answers nothing, and is perhaps not reached, until it has been waited for long enough.
struct Silent<'a> {
    reached: bool,
    orders: Vec<(u64, bool)>,
    waits: &'a mut Vec<Duration>,
    stop: &'a AtomicBool,
    announced: bool,
}

impl Volume for Silent<'_> {
    fn send(&mut self, number: u64, order: &Order) {
        self.orders
            .push((number, matches!(order, Order::Read { .. })));
    }

    fn wait(&mut self, patience: Duration, events: &mut Vec<Event>) -> io::Result<()> {
        if self.reached && !std::mem::replace(&mut self.announced, true) {
            events.extend([Event::Connected(0), Event::PathUp(0)]);
            return Ok(());
        }
        let full = self.orders.len() == usize::from(Load::USUAL.depth);
        if self.waits.len() < WAITS {
            if full || !self.reached {
                self.waits.push(patience);
            }
            return Ok(());
        }
        self.stop.store(true, Ordering::Relaxed);
        let page = |is_read: bool| is_read.then(Page::zeroed);
        let done = self.orders.drain(..);
        events.extend(done.map(|(number, is_read)| Event::Done(number, page(is_read))));
        Ok(())
    }

    fn facts(&self) -> Option<Facts> {
        Some(support::FACTS)
    }

    fn ready(&self) -> bool {
        self.announced
    }
}

fn waits(reached: bool) -> Vec<Duration> {
    let stop = AtomicBool::new(false);
    // More than is ever due.
    let load = Load {
        rate: 1_000_000,
        ..Load::USUAL
    };
    let mut waits = Vec::new();
    let volume = Silent {
        reached,
        orders: Vec::new(),
        waits: &mut waits,
        stop: &stop,
        announced: false,
    };
    support::history_of(load, &stop, volume);
    waits
}

#[test]
fn one_that_is_not_reached_is_waited_for() {
    assert_eq!(waits(false), [LONGEST; WAITS]);
}

#[test]
fn one_that_has_all_orders_that_it_takes_at_a_time_is_waited_for() {
    assert_eq!(waits(true), [LONGEST; WAITS]);
}

/// A volume that obeys each order, or none.
struct Plain<'a> {
    obeys: bool,
    up: bool,
    events: Vec<Event>,
    stop: &'a AtomicBool,
}

impl Volume for Plain<'_> {
    fn send(&mut self, number: u64, order: &Order) {
        let page = matches!(order, Order::Read { .. }).then(Page::zeroed);
        match self.obeys {
            true => self.events.push(Event::Done(number, page)),
            false => self.stop.store(true, Ordering::Relaxed),
        }
    }

    fn wait(&mut self, _: Duration, events: &mut Vec<Event>) -> io::Result<()> {
        if !std::mem::replace(&mut self.up, true) {
            events.extend([Event::Connected(0), Event::PathUp(0)]);
        }
        events.append(&mut self.events);
        Ok(())
    }

    fn facts(&self) -> Option<Facts> {
        Some(support::FACTS)
    }

    fn ready(&self) -> bool {
        self.up
    }
}

/// One whose volume never answers again gives up, and the other reads back what it wrote.
#[test]
fn a_writer_that_gives_up_keeps_no_other_waiting() {
    for silent in [0, 1] {
        let file = tempfile::NamedTempFile::new().unwrap();
        let log = Log::create(file.path()).unwrap();
        let (stop, working, ended) = (AtomicBool::new(false), AtomicU32::new(0), Barrier::new(2));
        let plan = WriterPlan {
            run: 5,
            load: Load::USUAL,
            patience: Duration::from_millis(50),
        };
        let work = |number: u8| {
            let volume = Plain {
                obeys: number != silent,
                up: false,
                events: Vec::new(),
                stop: &stop,
            };
            let shared = Shared {
                log: &log,
                stop: &stop,
                working: &working,
                ended: &ended,
            };
            let writer = Writer::new(number, plan, shared, Box::new(volume));
            writer.work().unwrap()
        };
        let whole = thread::scope(|scope| {
            let both = [0, 1].map(|number| scope.spawn(move || work(number)));
            both.map(|writer| writer.join().unwrap())
        });
        assert_eq!(whole, [silent != 0, silent != 1]);
    }
}
