//! One writer: keeps a number of orders in flight on blocks of its own, sends again what had no
//! answer, and writes down what it learns.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::history::{CACHE, FUA, Kind, Log, NOTHING, Record, TORN, micros};
use crate::load::Load;
use crate::stamp::{self, Found};
use crate::volume::{Event, Order, Volume};
use crate::word::Word;

/// One write in so many is written with FUA.
const FUAS: u64 = 8;
/// After so many acknowledged writes a flush is sent.
const FLUSHES: u64 = 24;
/// A refused order is sent again after this.
const AGAIN: Duration = Duration::from_millis(20);
/// The longest wait for an event: so often it is seen whether to stop.
const HEARS: Duration = Duration::from_millis(20);
/// The shortest: no loop without a pause.
const SHORTEST: Duration = Duration::from_micros(200);

/// How the writers work.
#[derive(Clone, Copy, Debug)]
pub struct WriterPlan {
    /// The number of the run.
    pub run: u64,
    /// How heavily.
    pub load: Load,
    /// How long, once told to stop, it waits for answers before it gives up.
    pub patience: Duration,
}

/// What all writers share.
pub struct Shared<'a> {
    /// The history.
    pub log: &'a Log,
    /// Told to stop writing and to read back.
    pub stop: &'a AtomicBool,
    /// Writers that have had an acknowledgement.
    pub working: &'a AtomicU32,
    /// All have ended writing.
    pub ended: &'a Barrier,
}

struct Flight {
    order: Order,
    sequence: u64,
    sent: Instant,
    again: Option<Instant>,
}

/// A writer at work.
pub struct Writer<'a> {
    number: u8,
    plan: WriterPlan,
    shared: Shared<'a>,
    volume: Box<dyn Volume + 'a>,
    mine: Range<u32>,
    flights: BTreeMap<u64, Flight>,
    written: BTreeSet<u32>,
    next: u64,
    writes: u64,
    flushes: u64,
    unflushed: u64,
    cursor: u32,
    chance: u64,
    path: u8,
    working: bool,
}

impl<'a> Writer<'a> {
    /// Writer number `number` of a plan.
    pub fn new(
        number: u8,
        plan: WriterPlan,
        shared: Shared<'a>,
        volume: Box<dyn Volume + 'a>,
    ) -> Self {
        let first = u32::from(number) * plan.load.blocks;
        Self {
            number,
            plan,
            shared,
            volume,
            mine: first..first + plan.load.blocks,
            flights: BTreeMap::new(),
            written: BTreeSet::new(),
            next: 0,
            writes: 0,
            flushes: 0,
            unflushed: 0,
            cursor: first,
            chance: plan.run ^ u64::from(number),
            path: 0,
            working: false,
        }
    }

    /// Works until it is told to stop, then reads everything back. True: every block that was written
    /// was read.
    ///
    /// # Errors
    /// The history cannot be written, or what no retry cures.
    pub fn work(mut self) -> io::Result<bool> {
        let outcome = self.write();
        // The others wait at both, whatever became of this one.
        self.shared.ended.wait();
        let noted = match self.number {
            0 => self.shared.log.put(Record::new(Kind::Final, 0)),
            _ => Ok(()),
        };
        self.shared.ended.wait();
        let whole = outcome?;
        noted?;
        if whole { self.read_back() } else { Ok(false) }
    }

    fn write(&mut self) -> io::Result<bool> {
        let gap = Duration::from_secs(1) / self.plan.load.rate.max(1);
        let mut due = Instant::now();
        let mut stopped: Option<Instant> = None;
        loop {
            let now = Instant::now();
            if stopped.is_none() && self.shared.stop.load(Ordering::Relaxed) {
                stopped = Some(now);
            }
            match stopped {
                Some(_) if self.flights.is_empty() && self.unflushed == 0 => return Ok(true),
                Some(since) if now - since > self.plan.patience => return Ok(false),
                Some(_) if self.flights.is_empty() && self.volume.ready() => self.flush()?,
                Some(_) => {}
                None => {
                    while self.can_begin() && due <= now {
                        self.begin_one()?;
                        // What was missed in a stall is not made up for.
                        due = (due + gap).max(now.checked_sub(gap).unwrap_or(now));
                    }
                }
            }
            // What cannot be sent is not due, whatever the hour.
            let patience = match stopped.is_none() && self.can_begin() {
                true => due.saturating_duration_since(Instant::now()),
                false => HEARS,
            };
            self.hear(patience)?;
        }
    }

    fn can_begin(&self) -> bool {
        self.volume.ready() && self.flights.len() < self.depth()
    }

    fn read_back(&mut self) -> io::Result<bool> {
        let mut left: Vec<u32> = self.written.iter().rev().copied().collect();
        let begun = Instant::now();
        while !(left.is_empty() && self.flights.is_empty()) {
            while self.can_begin() {
                let Some(block) = left.pop() else { break };
                self.read(block)?;
            }
            self.hear(HEARS)?;
            if begun.elapsed() > self.plan.patience {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn begin_one(&mut self) -> io::Result<()> {
        if self.unflushed >= FLUSHES {
            return self.flush();
        }
        let chance = stamp::mixed(&mut self.chance);
        if chance % 100 < u64::from(self.plan.load.reads) && !self.written.is_empty() {
            let from = self.mine.start + (chance >> 32) as u32 % self.plan.load.blocks;
            let mut known = self.written.range(from..).chain(self.written.iter());
            let idle = known.find(|block| !self.is_busy(**block..**block + 1));
            if let Some(block) = idle.copied() {
                return self.read(block);
            }
        }
        let blocks = self.next_blocks();
        self.writes += 1;
        // One without a cache has nothing to do for it, and the kernel's target refuses such a write (`sbc_check_dpofua`).
        let has_cache = self.volume.facts().is_some_and(|facts| facts.cache);
        let fua = has_cache && self.writes % FUAS == 0;
        let page = |block| *stamp::make(self.plan.run, block, self.writes);
        let pages = blocks.clone().map(page).collect();
        for block in blocks.clone() {
            self.shared.log.put(Record {
                block,
                sequence: self.writes,
                flags: if fua { FUA } else { 0 },
                path: self.path,
                ..Record::new(Kind::Write, self.number)
            })?;
        }
        let block = blocks.start;
        self.send(Order::Write { block, pages, fua }, self.writes);
        Ok(())
    }

    /// Where the next write goes: in order through the region, so that a block is written again as late as can be.
    fn next_blocks(&mut self) -> Range<u32> {
        let size = u32::from(self.plan.load.size);
        loop {
            if self.cursor + size > self.mine.end {
                self.cursor = self.mine.start;
            }
            let blocks = self.cursor..self.cursor + size;
            self.cursor = blocks.end;
            // There are more blocks than are in flight ([`Load::check`]).
            if !self.is_busy(blocks.clone()) {
                return blocks;
            }
        }
    }

    fn is_busy(&self, blocks: Range<u32>) -> bool {
        let mut flights = self.flights.values();
        flights.any(|flight| {
            let its = flight.order.blocks();
            its.start < blocks.end && blocks.start < its.end
        })
    }

    fn depth(&self) -> usize {
        usize::from(self.plan.load.depth)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.flushes += 1;
        self.unflushed = 0;
        self.shared.log.put(Record {
            sequence: self.flushes,
            path: self.path,
            ..Record::new(Kind::Flush, self.number)
        })?;
        self.send(Order::Flush, self.flushes);
        Ok(())
    }

    fn read(&mut self, block: u32) -> io::Result<()> {
        self.shared.log.put(Record {
            block,
            path: self.path,
            ..Record::new(Kind::Read, self.number)
        })?;
        self.send(Order::Read { block }, 0);
        Ok(())
    }

    fn send(&mut self, order: Order, sequence: u64) {
        self.next += 1;
        self.volume.send(self.next, &order);
        let flight = Flight {
            order,
            sequence,
            sent: Instant::now(),
            again: None,
        };
        self.flights.insert(self.next, flight);
    }

    fn hear(&mut self, patience: Duration) -> io::Result<()> {
        let mut events = Vec::new();
        let again = self.flights.values().filter_map(|flight| flight.again);
        let again = again.min().filter(|_| self.volume.ready());
        let again = again.map_or(HEARS, |at| at.saturating_duration_since(Instant::now()));
        let patience = patience.min(again).clamp(SHORTEST, HEARS);
        self.volume.wait(patience, &mut events)?;
        for event in events {
            self.learn(event)?;
        }
        let now = Instant::now();
        if self.volume.ready() {
            for (number, flight) in &mut self.flights {
                if flight.again.is_some_and(|at| at <= now) {
                    flight.again = None;
                    self.volume.send(*number, &flight.order);
                }
            }
        }
        Ok(())
    }

    fn learn(&mut self, event: Event) -> io::Result<()> {
        let of = |kind, path| Record {
            path,
            ..Record::new(kind, self.number)
        };
        match event {
            Event::Done(number, page) => self.done(number, page.as_deref()),
            Event::Refused(number, why) => {
                let words = format!("writer {}: {why}", self.number);
                self.shared.log.say(Word::Said(words));
                if let Some(flight) = self.flights.get_mut(&number) {
                    flight.again = Some(Instant::now() + AGAIN);
                }
                self.shared.log.put(of(Kind::Refused, self.path))
            }
            Event::LoginRefused(portal, why) => {
                self.shared.log.say(Word::LoginRefused { portal, why });
                Ok(())
            }
            Event::Said(words) => {
                let words = format!("writer {}: {words}", self.number);
                self.shared.log.say(Word::Said(words));
                Ok(())
            }
            Event::PathLost(path) => self.shared.log.put(of(Kind::PathLost, path)),
            Event::Connected(path) => self.shared.log.put(of(Kind::Connected, path)),
            Event::PathUp(path) => {
                self.path = path;
                self.shared.log.put(of(Kind::PathUp, path))?;
                let facts = self.volume.facts();
                if let Some(facts) = facts {
                    let fits = self.plan.load.fits(facts.blocks);
                    fits.map_err(io::Error::other)?;
                }
                if let Some(facts) = facts.filter(|_| !self.working && self.number == 0) {
                    self.shared.log.put(Record {
                        sequence: self.plan.run,
                        block: facts.blocks,
                        flags: if facts.cache { CACHE } else { 0 },
                        ..Record::new(Kind::Start, 0)
                    })?;
                }
                let now = Instant::now();
                // In the order in which they were first sent.
                self.flights
                    .values_mut()
                    .for_each(|flight| flight.again = Some(now));
                Ok(())
            }
        }
    }

    fn done(&mut self, number: u64, page: Option<&stamp::Page>) -> io::Result<()> {
        let Some(flight) = self.flights.remove(&number) else {
            return Ok(());
        };
        let record = Record {
            sequence: flight.sequence,
            path: self.path,
            value: micros(flight.sent.elapsed()),
            ..Record::new(Kind::Flushed, self.number)
        };
        match flight.order {
            Order::Flush => self.shared.log.put(record),
            Order::Write { fua, .. } => {
                let blocks = flight.order.blocks();
                self.written.extend(blocks.clone());
                self.unflushed += 1;
                if !std::mem::replace(&mut self.working, true) {
                    self.shared.working.fetch_add(1, Ordering::Relaxed);
                }
                for block in blocks {
                    self.shared.log.put(Record {
                        kind: Kind::Acknowledged,
                        block,
                        flags: if fua { FUA } else { 0 },
                        ..record
                    })?;
                }
                Ok(())
            }
            Order::Read { block } => {
                let found = page.map_or(Found::Nothing, |page| {
                    stamp::read(self.plan.run, block, page)
                });
                let (sequence, flags) = match found {
                    Found::Write(sequence) => (sequence, 0),
                    Found::Nothing => (0, NOTHING),
                    Found::Torn => (0, TORN),
                };
                self.shared.log.put(Record {
                    kind: Kind::Found,
                    block,
                    sequence,
                    flags,
                    ..record
                })
            }
        }
    }
}
