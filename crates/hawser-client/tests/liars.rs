//! Volumes that break their word, written to by the real writer: each must be caught, and the honest
//! one must not be accused.

mod support;

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hawser_client::check::{HistoryVerdict, Rules, check};
use hawser_client::history;
use hawser_client::load::Load;
use hawser_client::stamp::{Page, SECTOR};
use hawser_client::volume::{Event, Facts, Order, Volume};

/// Dies after so many orders, as soon as 16 writes (two with FUA) lie unflushed in its cache; the work
/// ends soon after, before every block has been written again.
const DIES: u32 = 600;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Lie {
    None,
    IgnoresFlush,
    IgnoresFua,
    StaleRead,
    TearsWrites,
}

/// A volume with a cache that dies once.
struct Model<'a> {
    lie: Lie,
    cached: BTreeMap<u32, Page>,
    stable: BTreeMap<u32, Page>,
    /// What each block held before its last write.
    before: BTreeMap<u32, Page>,
    orders: u32,
    unflushed: u32,
    dead: bool,
    events: Vec<Event>,
    up: bool,
    stop: &'a AtomicBool,
}

impl Volume for Model<'_> {
    fn send(&mut self, number: u64, order: &Order) {
        self.orders += 1;
        match order {
            Order::Write { pages, fua, .. } => {
                for (block, page) in order.blocks().zip(pages) {
                    let mut page = page.clone();
                    if let Some(old) = self.cached.get(&block) {
                        if self.lie == Lie::TearsWrites && self.orders % 97 == 0 {
                            page.0[SECTOR..].copy_from_slice(&old.0[SECTOR..]);
                        }
                        self.before.insert(block, old.clone());
                    }
                    if *fua && self.lie != Lie::IgnoresFua {
                        self.stable.insert(block, page.clone());
                    }
                    self.cached.insert(block, page);
                }
                self.unflushed += 1;
                self.events.push(Event::Done(number, None));
            }
            Order::Read { block } => {
                let old = self.before.get(block);
                let page = old.filter(|_| self.lie == Lie::StaleRead && self.orders % 7 == 0);
                let page = page.or(self.cached.get(block)).cloned();
                let page = page.map_or_else(Page::zeroed, Box::new);
                self.events.push(Event::Done(number, Some(page)));
            }
            Order::Flush => {
                self.unflushed = 0;
                if self.lie != Lie::IgnoresFlush {
                    self.stable.clone_from(&self.cached);
                }
                self.events.push(Event::Done(number, None));
            }
        }
        if !self.dead && self.orders >= DIES && self.unflushed == 16 {
            self.dead = true;
            self.orders = DIES;
            self.up = false;
            self.events.push(Event::PathLost(0));
            self.cached.clone_from(&self.stable);
        }
        if self.dead && self.orders >= DIES + 60 {
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    fn wait(&mut self, _patience: Duration, events: &mut Vec<Event>) -> io::Result<()> {
        events.append(&mut self.events);
        if !std::mem::replace(&mut self.up, true) {
            events.extend([Event::Connected(0), Event::PathUp(0)]);
        }
        Ok(())
    }

    fn facts(&self) -> Option<Facts> {
        Some(support::FACTS)
    }

    fn ready(&self) -> bool {
        self.up
    }
}

/// Fast, and few blocks: each is written many times.
const FAST: Load = Load {
    rate: 1_000_000,
    blocks: 200,
    ..Load::USUAL
};

fn judged(lie: Lie) -> HistoryVerdict {
    judged_under(FAST, lie)
}

fn judged_under(load: Load, lie: Lie) -> HistoryVerdict {
    let stop = AtomicBool::new(false);
    let volume = Model {
        lie,
        cached: BTreeMap::new(),
        stable: BTreeMap::new(),
        before: BTreeMap::new(),
        orders: 0,
        unflushed: 0,
        dead: false,
        events: Vec::new(),
        up: false,
        stop: &stop,
    };
    let file = support::history_of(load, &stop, volume);
    let rules = Rules {
        cache_may_be_lost: true,
        ..Rules::default()
    };
    check(&history::load(file.path()).unwrap(), rules)
}

#[test]
fn the_honest_one_is_not_accused() {
    let verdict = judged(Lie::None);
    assert!(verdict.is_clean(), "{verdict:?}");
    assert!(verdict.acknowledged > 500 && verdict.reads > 10 && verdict.flushed > 15);
    assert_eq!(verdict.read_back, 200);
}

#[test]
fn one_that_ignores_flushes_is_caught() {
    let verdict = judged(Lie::IgnoresFlush);
    assert!(verdict.lost + verdict.stale > 0, "{verdict:?}");
}

#[test]
fn one_that_ignores_fua_is_caught() {
    let verdict = judged(Lie::IgnoresFua);
    assert!(verdict.lost + verdict.stale > 0, "{verdict:?}");
}

#[test]
fn one_with_stale_reads_is_caught() {
    let verdict = judged(Lie::StaleRead);
    assert!(verdict.stale > 0, "{verdict:?}");
}

#[test]
fn one_that_tears_writes_is_caught() {
    assert!(judged(Lie::TearsWrites).torn > 0);
}

#[test]
fn writes_of_several_blocks_and_many_reads_are_judged_block_by_block() {
    let load = Load {
        size: 7,
        reads: 40,
        depth: 8,
        ..FAST
    };
    let verdict = judged_under(load, Lie::None);
    assert!(verdict.is_clean(), "{verdict:?}");
    assert!(
        verdict.acknowledged > 1000 && verdict.acknowledged % 7 == 0,
        "{verdict:?}"
    );
    assert!(verdict.reads > 150, "{verdict:?}");
    // Of 200 blocks 28 writes of 7 fit.
    assert_eq!(verdict.read_back, 196);
    assert!(judged_under(load, Lie::TearsWrites).torn > 0);
}
