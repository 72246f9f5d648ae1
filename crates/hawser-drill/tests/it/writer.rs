//! The client of a simulated drill: it writes steadily, and stalls as a recorded one did.

use std::collections::BTreeMap;

use hawser_client::history::{FUA, Kind, Record};
use hawser_client::questions::{ReadClock, StartWriting, StopWriting, TakeWords};
use hawser_client::word::Word;
use hawser_host::sim::Simulated;
use hawser_host::{Host, HostError, Reach};
use hawser_model::drill::{Moment, PathChange};
use hawser_model::names::HostName;

use crate::bench::World;

const WRITERS: u8 = 2;

/// How long a write takes to be acknowledged, in microseconds.
const TAKES_US: u64 = 200;

/// Blocks of each.
const BLOCKS: u32 = 16;

/// The way to it.
pub struct Seated(pub World);

impl Reach for Seated {
    fn connect(&self, host: &HostName) -> Result<Box<dyn Host>, HostError> {
        let writer = Writer {
            world: self.0.clone(),
            begun: 0,
            told: None,
            acknowledged: BTreeMap::new(),
            stopped: false,
        };
        let (name, wire) = (host.clone(), &self.0.wire);
        Ok(Box::new(Simulated::new(name, writer, QUESTIONS, wire)))
    }
}

struct Writer {
    world: World,
    begun: u64,
    /// What was until then is told.
    told: Option<u64>,
    /// The last write of each block.
    acknowledged: BTreeMap<u32, Record>,
    stopped: bool,
}

hawser_host::answers! {
    Writer;
    StartWriting: |_, writer| {
        writer.begun = writer.world.now().0;
    };
    TakeWords: |_, writer| {
        let now = writer.world.now().0;
        let (mut records, mut last) = (Vec::new(), None);
        if writer.told.is_none() {
            records.push(at(now, 0, Record::new(Kind::Start, 0)));
            for path in 0..WRITERS {
                for kind in [Kind::Connected, Kind::PathUp] {
                    records.push(at(now, path, Record::new(kind, path)));
                }
            }
            last = Some(Word::Writing);
        }
        let from = writer.told.replace(now).unwrap_or(now);
        match writer.stopped {
            false => records.extend(writer.records(from, now)),
            true => {
                records.extend(writer.read_back(now));
                last = Some(Word::Ended);
            }
        }
        records.into_iter().map(Word::Record).chain(last).collect()
    };
    ReadClock: |_, writer| writer.world.now().0;
    StopWriting: |_, writer| {
        writer.stopped = true;
    };
}

fn at(at_us: u64, path: u8, record: Record) -> Record {
    Record {
        at_us,
        path,
        ..record
    }
}

impl Writer {
    /// When a writer has something acknowledged, after one time and until another.
    fn acknowledgements(&self, writer: u8, from: u64, to: u64) -> Vec<u64> {
        let story = self.world.story();
        let every = self.world.writes_every_us;
        let beat = |n: u64| self.begun + n * every + 1000 * u64::from(writer);
        let all = (from.saturating_sub(self.begun) / every..).map(beat);
        let mut all: Vec<u64> = all.take_while(|at| *at <= to).collect();
        if self.world.is_made() {
            all.retain(|at| story.stall(writer, Moment(*at)).is_none());
            let stalls = story.0.client.stalls.iter();
            let stalls = stalls.filter(|stall| stall.writer == writer);
            all.extend(stalls.flat_map(|stall| [stall.from.0, stall.to.0]));
        }
        all.retain(|at| from < *at && *at <= to);
        all.sort_unstable();
        all.dedup();
        all
    }

    /// What became of the paths.
    fn paths(&self) -> Vec<Record> {
        let client = &self.world.story().0.client;
        let events = client.paths.iter().map(|event| {
            let kind = match event.what {
                PathChange::Lost => Kind::PathLost,
                PathChange::Connected => Kind::Connected,
                PathChange::Up => Kind::PathUp,
                PathChange::Refused => Kind::Refused,
            };
            let mut portals = (0..).zip(&client.portals);
            let path = portals.find(|(_, portal)| **portal == event.portal);
            at(event.at.0, path.unwrap().0, Record::new(kind, event.writer))
        });
        events.collect()
    }

    /// Everything after one time and until another, in order.
    fn records(&mut self, from: u64, to: u64) -> Vec<Record> {
        let mut all = Vec::new();
        if self.world.is_made() {
            let ordered = self.world.story().ordered().0;
            all = self.paths();
            all.retain(|it| from.max(ordered) < it.at_us && it.at_us <= to);
        }
        for writer in 0..WRITERS {
            for time in self.acknowledgements(writer, from, to) {
                let beat = time / self.world.writes_every_us;
                let number = u32::try_from(beat % u64::from(BLOCKS)).unwrap();
                let write = Record {
                    flags: FUA,
                    block: u32::from(writer) * BLOCKS + number,
                    sequence: time,
                    value: TAKES_US,
                    ..Record::new(Kind::Write, writer)
                };
                let acknowledged = Record {
                    kind: Kind::Acknowledged,
                    ..write
                };
                all.push(at(time - TAKES_US, writer, write));
                all.push(at(time, writer, acknowledged));
                self.acknowledged.insert(write.block, write);
            }
        }
        all.sort_by_key(|record| record.at_us);
        all
    }

    /// Every block is read back.
    fn read_back(&self, now: u64) -> Vec<Record> {
        let mut all = vec![at(now, 0, Record::new(Kind::Final, 0))];
        for write in self.acknowledged.values() {
            for kind in [Kind::Read, Kind::Found] {
                let read = Record {
                    kind,
                    flags: 0,
                    ..*write
                };
                all.push(at(now, write.writer, read));
            }
        }
        all
    }
}
