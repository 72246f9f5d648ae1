//! A writer that cannot send anything waits for an event: it does not look again and again.

mod support;

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hawser_client::load::Load;
use hawser_client::stamp::Page;
use hawser_client::volume::{Event, Facts, Order, Volume};

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
