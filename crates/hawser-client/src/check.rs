//! The judgement over a history, and over nothing else.
//!
//! What was acknowledged must be there. Where the volume has a volatile write cache, its head may take
//! with it what was neither flushed nor written with FUA: only then, only when the rules say that a head
//! was to die, and only of writes that the dead head acknowledged. Those are known by its death, when the
//! rules have it: a later flap of a path excuses nothing. Otherwise they are all from before a path was lost.
//! A later write that was never acknowledged may be there or not.

use std::collections::{BTreeMap, BTreeSet};

use crate::history::{CACHE, FUA, Kind, NOTHING, Record, TORN};

/// What the scenario allows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// A head was to die, and with it a volatile write cache.
    pub cache_may_be_lost: bool,
    /// When heads were dead at the latest, in microseconds since 1970 by the history's clock, in order. None: it is
    /// not known.
    pub deaths: Vec<u64>,
}

/// What is wrong with a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// A write was acknowledged, and nothing of this run is there.
    Lost,
    /// An older write is there than the last that was acknowledged.
    Stale,
    /// Parts of different writes are there, or damaged ones.
    Torn,
    /// A write is there that was never sent.
    Foreign,
    /// It was never read back.
    Unread,
}

/// A block that breaks a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Breach {
    /// What is wrong.
    pub wrong: Wrong,
    /// Where.
    pub block: u32,
    /// The last acknowledged write.
    pub acknowledged: u64,
    /// What was found.
    pub found: u64,
    /// Whether it was found when all was over, rather than by a read in between.
    pub at_the_end: bool,
}

/// What a history shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistoryVerdict {
    /// Writes that were acknowledged.
    pub acknowledged: u64,
    /// Flushes that were acknowledged.
    pub flushed: u64,
    /// Reads in between whose answer was right.
    pub reads: u64,
    /// Blocks that were read back at the end.
    pub read_back: u64,
    /// Times that a block had lost its acknowledged writes.
    pub lost: u64,
    /// Times that a block held an older value than the last acknowledged one.
    pub stale: u64,
    /// Times that a block was torn, or held what was never written.
    pub torn: u64,
    /// Acknowledged blocks that could not be read back at the end.
    pub unread: u64,
    /// Blocks whose last acknowledged write was in a volatile cache, not flushed, and went with its
    /// head: allowed.
    pub unflushed_gone: u64,
    /// The first breaches.
    pub breaches: Vec<Breach>,
}

impl HistoryVerdict {
    /// Whether no rule is broken.
    pub fn is_clean(&self) -> bool {
        self.lost + self.stale + self.torn + self.unread == 0
    }
}

/// Enough to look at by hand.
const BREACHES: usize = 20;

#[derive(Clone, Default)]
struct Block {
    /// Whose it is.
    writer: u8,
    /// The highest number that was sent.
    sent: u64,
    /// Acknowledged writes that a flush may still cover: where in the history, and the number.
    /// The last one is the last acknowledged.
    acknowledged: Vec<(usize, u64)>,
    /// The last that must survive anything.
    durable: u64,
    /// What was known when a read of it was sent.
    asked: Option<(usize, u64, u64)>,
    seen_at_the_end: bool,
}

impl Block {
    fn last(&self) -> (usize, u64) {
        self.acknowledged.last().copied().unwrap_or((0, 0))
    }

    /// What was acknowledged between these places of the history is on stable storage. (What a
    /// dead head's cache took with it, no later flush brings back.)
    fn flushed(&mut self, after: Option<usize>, before: usize) {
        let covered = self.acknowledged.partition_point(|(at, _)| *at < before);
        if covered > 0 && after.is_none_or(|after| self.acknowledged[covered - 1].0 > after) {
            self.durable = self.durable.max(self.acknowledged[covered - 1].1);
            // The last one stays: it is what must be found.
            self.acknowledged.drain(..covered - 1);
        }
    }
}

/// Judges a history.
pub fn check(history: &[Record], rules: Rules) -> HistoryVerdict {
    let mut judge = Judge {
        rules,
        cache: false,
        blocks: BTreeMap::new(),
        flushes: BTreeMap::new(),
        path_lost: None,
        gone: BTreeMap::new(),
        at_the_end: false,
        verdict: HistoryVerdict::default(),
    };
    for (at, record) in history.iter().enumerate() {
        judge.hear(at, record);
    }
    judge.end()
}

struct Judge {
    rules: Rules,
    cache: bool,
    blocks: BTreeMap<u32, Block>,
    flushes: BTreeMap<(u8, u64), usize>,
    path_lost: Option<usize>,
    /// For each writer how many deaths it has seen, and where in the history the last one was over for it.
    gone: BTreeMap<u8, (usize, usize)>,
    at_the_end: bool,
    verdict: HistoryVerdict,
}

impl Judge {
    fn hear(&mut self, at: usize, record: &Record) {
        let block = self.blocks.entry(record.block);
        match record.kind {
            Kind::Start => self.cache = record.flags & CACHE != 0,
            Kind::Write => {
                let block = block.or_default();
                block.writer = record.writer;
                block.sent = block.sent.max(record.sequence);
            }
            Kind::Acknowledged => {
                let block = block.or_default();
                block.acknowledged.push((at, record.sequence));
                if !self.cache || record.flags & FUA != 0 {
                    block.durable = block.durable.max(record.sequence);
                }
                self.verdict.acknowledged += 1;
            }
            Kind::Flush => {
                self.flushes.insert((record.writer, record.sequence), at);
            }
            Kind::Flushed => {
                self.verdict.flushed += 1;
                if let Some(sent) = self.flushes.remove(&(record.writer, record.sequence)) {
                    let deaths = self.deaths_seen(record.writer);
                    let mut blocks = std::mem::take(&mut self.blocks);
                    for block in blocks.values_mut() {
                        // The head that flushes has none of a writer's that is not back since the last death: all
                        // that it was told came from the dead head.
                        if self.deaths_seen(block.writer) >= deaths {
                            block.flushed(self.cache_lost(block.writer), sent);
                        }
                    }
                    self.blocks = blocks;
                }
            }
            Kind::Read => {
                let block = block.or_default();
                let (acknowledged_at, acknowledged) = block.last();
                block.asked = Some((acknowledged_at, acknowledged, block.durable));
            }
            Kind::Found => self.found(record),
            Kind::PathLost => self.path_lost = Some(at),
            Kind::PathUp => self.over(record.writer, at, record.at_us),
            Kind::Final => {
                self.at_the_end = true;
                let writers: BTreeSet<u8> = self.blocks.values().map(|it| it.writer).collect();
                for writer in writers {
                    self.over(writer, at, record.at_us);
                }
            }
            Kind::Connected | Kind::Refused | Kind::Created => {}
        }
    }

    /// A writer goes on. What it was told before, and after the last death that it has seen, came from a head that
    /// is dead by now, if one has died meanwhile: it may have been told late, since its machine was busy.
    fn over(&mut self, writer: u8, at: usize, time: u64) {
        let died = self.rules.deaths.iter().filter(|death| **death <= time);
        let died = died.count();
        if died > self.deaths_seen(writer) {
            self.gone.insert(writer, (died, at));
        }
    }

    /// How many deaths were over for a writer.
    fn deaths_seen(&self, writer: u8) -> usize {
        self.gone.get(&writer).map_or(0, |(seen, _)| *seen)
    }

    /// Where in the history the last volatile cache of a writer's was lost, if one may have been.
    fn cache_lost(&self, writer: u8) -> Option<usize> {
        let lost = match self.rules.deaths.is_empty() {
            true => self.path_lost,
            false => self.gone.get(&writer).map(|(_, at)| *at),
        };
        lost.filter(|_| self.rules.cache_may_be_lost)
    }

    fn found(&mut self, record: &Record) {
        let writer = self.blocks.get(&record.block).map(|block| block.writer);
        let cache_lost = writer.and_then(|writer| self.cache_lost(writer));
        let Some(block) = self.blocks.get_mut(&record.block) else {
            return;
        };
        let Some((acknowledged_at, acknowledged, durable)) = block.asked.take() else {
            return;
        };
        let found = match record.flags & NOTHING {
            0 => record.sequence,
            _ => 0,
        };
        if self.at_the_end {
            self.verdict.read_back += 1;
            block.seen_at_the_end = true;
        }
        let volatile =
            self.cache && found >= durable && cache_lost.is_some_and(|lost| acknowledged_at < lost);
        let wrong = match record.flags & TORN != 0 {
            true => Wrong::Torn,
            false if found > block.sent => Wrong::Foreign,
            false if found >= acknowledged => {
                self.verdict.reads += u64::from(!self.at_the_end);
                return;
            }
            false if volatile => {
                self.verdict.unflushed_gone += 1;
                // It is known to be gone: what is there now is what must stay.
                block.acknowledged = vec![(acknowledged_at, found)];
                return;
            }
            false if found == 0 => Wrong::Lost,
            false => Wrong::Stale,
        };
        self.wrong(wrong, record.block, acknowledged, found);
    }

    fn wrong(&mut self, wrong: Wrong, block: u32, acknowledged: u64, found: u64) {
        let verdict = &mut self.verdict;
        let count = match wrong {
            Wrong::Lost => &mut verdict.lost,
            Wrong::Stale => &mut verdict.stale,
            Wrong::Torn | Wrong::Foreign => &mut verdict.torn,
            Wrong::Unread => &mut verdict.unread,
        };
        *count += 1;
        if verdict.breaches.len() < BREACHES {
            let at_the_end = self.at_the_end;
            verdict.breaches.push(Breach {
                wrong,
                block,
                acknowledged,
                found,
                at_the_end,
            });
        }
    }

    fn end(mut self) -> HistoryVerdict {
        let all = self.blocks.iter();
        let unread: Vec<(u32, u64)> = all
            .map(|(block, state)| (*block, state.last().1, state.seen_at_the_end))
            .filter(|(_, acknowledged, seen)| *acknowledged > 0 && !seen)
            .map(|(block, acknowledged, _)| (block, acknowledged))
            .collect();
        for (block, acknowledged) in unread {
            self.wrong(Wrong::Unread, block, acknowledged, 0);
        }
        self.verdict
    }
}
