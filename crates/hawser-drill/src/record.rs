//! What the client saw, from its history.

use std::collections::BTreeMap;

use hawser_client::check::{HistoryVerdict, Rules, Wrong, check};
use hawser_client::history::{Kind, Record};
use hawser_client::load::Load;
use hawser_client::series::{SLICE_US, felt};
use hawser_client::stamp::BLOCK;
use hawser_model::drill::{
    ClientBreach, ClientLoad, ClientRecord, Clock, Moment, PathChange, PathEvent, PowerEvent,
    PowerState, Stall, WriteCounts, WrongWrite,
};
use hawser_model::names::HostName;

use crate::fencing::Shot;

/// A stall of so many microseconds is kept, however many there are.
const WORTH_KEEPING: u64 = 100_000;

/// Each writer's longest stalls before the first fault and after it are kept, however short they are.
const LONGEST: usize = 3;

/// Where the client ran and what it wrote to.
pub(crate) struct ClientRun {
    pub host: HostName,
    pub clock: Clock,
    pub pool: String,
    pub load: Load,
    pub create: bool,
    pub portals: Vec<String>,
    pub errors: Vec<String>,
    /// When the first fault was ordered, on the drill's clock; absent when none was.
    pub fault: Option<Moment>,
}

/// The history in numbers. In `rules` is what the scenario allows a volume to lose.
pub(crate) fn client(history: &[Record], rules: Rules, place: ClientRun) -> ClientRecord {
    let felt = felt(history);
    let verdict = check(history, rules);
    let first = history.first().map_or(0, |record| record.at_us);
    let last = history.last().map_or(first, |record| record.at_us);
    let ended = history.iter().find(|record| record.kind == Kind::Final);
    let fault = place.fault.map(|at| at.shifted(-place.clock.offset_us));
    ClientRecord {
        host: Some(place.host),
        clock: place.clock,
        pool: place.pool,
        load: Some(load(place.load, place.create)),
        began: Moment(first),
        ended: Moment(ended.map_or(last, |record| record.at_us)),
        slice_us: SLICE_US,
        slices: felt.slices,
        write_bytes: BLOCK as u32,
        median_us: felt.median_us,
        p99_us: felt.p99_us,
        stalls: stalls(history, fault.unwrap_or_default()),
        paths: paths(history, &place.portals),
        portals: place.portals,
        writes: WriteCounts {
            acknowledged: verdict.acknowledged,
            lost: verdict.lost,
            stale: verdict.stale,
            torn: verdict.torn,
            unread: verdict.unread,
            unflushed_gone: verdict.unflushed_gone,
            flushed: verdict.flushed,
        },
        read_back: ended.is_some() && verdict.unread == 0,
        breaches: breaches(&verdict),
        errors: place.errors,
    }
}

fn load(load: Load, creates: bool) -> ClientLoad {
    ClientLoad {
        writers: load.writers,
        depth: load.depth,
        rate: load.rate,
        region_bytes: u64::from(load.blocks) * BLOCK as u64,
        order_bytes: u32::from(load.size) * BLOCK as u32,
        reads: load.reads,
        creates,
    }
}

fn breaches(verdict: &HistoryVerdict) -> Vec<ClientBreach> {
    let all = verdict.breaches.iter().map(|breach| ClientBreach {
        wrong: match breach.wrong {
            Wrong::Lost => WrongWrite::Lost,
            Wrong::Stale => WrongWrite::Stale,
            Wrong::Torn => WrongWrite::Torn,
            Wrong::Foreign => WrongWrite::Foreign,
            Wrong::Unread => WrongWrite::Unread,
        },
        block: breach.block,
        acknowledged: breach.acknowledged,
        found: breach.found,
        at_the_end: breach.at_the_end,
    });
    all.collect()
}

/// Times without an acknowledgement while there was writing, in the order in which they began.
/// `fault` is on the client's clock.
fn stalls(history: &[Record], fault: Moment) -> Vec<Stall> {
    let mut last: BTreeMap<u8, u64> = BTreeMap::new();
    let mut all: BTreeMap<u8, Vec<Stall>> = BTreeMap::new();
    let mut end = 0;
    for record in history {
        if record.kind == Kind::Final {
            break;
        }
        end = record.at_us;
        if record.is_progress() {
            if let Some(from) = last.insert(record.writer, record.at_us) {
                let stall = stall(record.writer, from, record.at_us, true);
                all.entry(record.writer).or_default().push(stall);
            }
        }
    }
    for (writer, from) in last {
        // Between its last answer and the order to stop a writer waits for nothing, unless it is long.
        if end - from >= WORTH_KEEPING {
            all.entry(writer)
                .or_default()
                .push(stall(writer, from, end, false));
        }
    }
    let length = |stall: &Stall| stall.to.0.saturating_sub(stall.from.0);
    let mut kept: Vec<Stall> = all
        .into_values()
        .flat_map(|mut stalls| {
            stalls.sort_by_key(|stall| std::cmp::Reverse(length(stall)));
            let (after, before): (Vec<_>, Vec<_>) =
                stalls.into_iter().partition(|stall| stall.to > fault);
            [before, after].into_iter().flat_map(|mut stalls| {
                let long = stalls.partition_point(|stall| length(stall) >= WORTH_KEEPING);
                stalls.truncate(long.max(LONGEST));
                stalls
            })
        })
        .collect();
    kept.sort_by_key(|stall| (stall.from, stall.writer));
    kept
}

fn stall(writer: u8, from: u64, to: u64, over: bool) -> Stall {
    Stall {
        writer,
        from: Moment(from),
        to: Moment(to),
        over,
    }
}

fn paths(history: &[Record], portals: &[String]) -> Vec<PathEvent> {
    let event = |record: &Record| {
        let what = match record.kind {
            Kind::PathLost => PathChange::Lost,
            Kind::Connected => PathChange::Connected,
            Kind::PathUp => PathChange::Up,
            Kind::Refused => PathChange::Refused,
            _ => return None,
        };
        let portal = portals.get(usize::from(record.path));
        Some(PathEvent {
            at: Moment(record.at_us),
            writer: record.writer,
            portal: portal.cloned().unwrap_or_default(),
            what,
        })
    };
    history.iter().filter_map(event).collect()
}

/// What may be gone with the heads that died, and when that was at the latest by the client's clock.
pub(crate) fn rules(power: &[PowerEvent], fencing: &[Shot], clock: Clock) -> Rules {
    let off = || power.iter().filter(|event| event.what == PowerState::Off);
    let seen = |head: &HostName| off().any(|event| event.host == *head);
    let shot = fencing
        .iter()
        .filter(|shot| shot.event.succeeded && shot.event.is_shot())
        .filter(|shot| !seen(&shot.event.target));
    let died = off().map(|event| event.at).chain(shot.map(Shot::over));
    let theirs = |at: Moment| {
        let late = at.0.saturating_add(clock.error_us);
        late.saturating_add_signed(clock.offset_us.saturating_neg())
    };
    let mut deaths: Vec<u64> = died.map(theirs).collect();
    deaths.sort_unstable();
    Rules {
        cache_may_be_lost: !deaths.is_empty(),
        deaths,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: Kind, writer: u8, ms: u64, sequence: u64) -> Record {
        Record {
            at_us: ms * 1000,
            sequence,
            block: u32::from(writer),
            path: writer,
            ..Record::new(kind, writer)
        }
    }

    #[test]
    fn a_history_becomes_stalls_paths_and_a_judgement() {
        let mut history = vec![record(Kind::Start, 0, 0, 1), record(Kind::PathUp, 1, 1, 0)];
        for (n, at) in [10, 20, 30, 40, 5_000, 5_010].into_iter().enumerate() {
            history.push(record(Kind::Write, 1, at - 1, n as u64 + 1));
            history.push(record(Kind::Acknowledged, 1, at, n as u64 + 1));
        }
        history.push(record(Kind::Final, 0, 5_020, 0));
        history.push(record(Kind::Read, 1, 5_030, 0));
        history.push(record(Kind::Found, 1, 5_040, 5));
        let place = ClientRun {
            host: "client1".into(),
            clock: Clock::default(),
            pool: "p".into(),
            load: Load::USUAL,
            create: false,
            portals: vec!["10.72.2.207:3260".into(), "10.72.3.207:3260".into()],
            errors: Vec::new(),
            fault: Some(Moment(4_000_000)),
        };
        let seen = client(&history, Rules::default(), place);
        assert_eq!((seen.began, seen.ended), (Moment(0), Moment(5_020_000)));
        assert_eq!((seen.writes.acknowledged, seen.writes.stale), (6, 1));
        assert_eq!(seen.breaches[0].wrong, WrongWrite::Stale);
        assert_eq!(seen.paths[0].portal, "10.72.3.207:3260");
        let after = seen.stalls.iter().filter(|s| s.to > Moment(4_000_000));
        assert_eq!((seen.stalls.len(), after.count()), (5, 2));
        let longest = seen
            .stalls
            .iter()
            .find(|stall| stall.to == Moment(5_000_000))
            .unwrap();
        assert!(longest.over && longest.from == Moment(40_000));
    }

    #[test]
    fn a_head_that_was_shot_was_dead_at_the_latest_by_the_clock_of_the_client() {
        let shot = Shot {
            event: hawser_model::drill::FenceEvent {
                target: "head1".into(),
                action: "off".into(),
                delegate: None,
                succeeded: true,
                completed: Moment(100_000_000),
            },
            error_us: 400,
        };
        let client = Clock {
            offset_us: -5_000_000,
            error_us: 30,
        };
        let mut let_in = shot.clone();
        let_in.event.action = "on".into();
        let rules = |shot| super::rules(&[], &[shot], client);
        assert!(rules(shot.clone()).cache_may_be_lost);
        assert_eq!(rules(shot).deaths, [106_000_430]);
        // By fencing with reservations a head that boots is let in again.
        assert!(!rules(let_in).cache_may_be_lost);
    }
}
