//! What is new from reading to reading, for the ring on the disk, and whether the clock was stepped in between. Pure.

use std::time::Duration;

use hawser_model::drill::Moment;
use hawser_model::readings::{
    AllNoted, Noted, NotedDisks, NotedDrops, NotedMember, NotedPaths, NotedPort, NotedToken,
    NotedZpool, Reading,
};
use hawser_model::storage::StorageFacts;

use crate::shown::Shown;

/// A clock that is off by less from one reading to the next is steered, not stepped, or the head was busy between the
/// two looks at it.
const STEP_US: i64 = 1_000_000;

/// No more ZFS pools are in a reading.
const ZPOOLS: usize = 64;

/// The readings of a watch, one after the other.
#[derive(Debug, Default)]
pub struct Tape {
    known: AllNoted,
    last: Option<(Duration, Moment)>,
}

impl Tape {
    /// What is new. `now` never steps back; `time_of_day` may.
    pub fn take(&mut self, now: Duration, time_of_day: Moment, known: AllNoted) -> Reading {
        let mut reading = Reading::between(time_of_day, &self.known, &known);
        reading.stepped_us = self
            .last
            .replace((now, time_of_day))
            .and_then(|(then, day)| {
                let by_day = i128::from(time_of_day.0) - i128::from(day.0);
                let by_clock = now.saturating_sub(then).as_micros();
                let by = by_day - i128::try_from(by_clock).ok()?;
                let by = i64::try_from(by).ok()?;
                (by.abs() >= STEP_US).then_some(by)
            });
        self.known = known;
        reading
    }

    /// All that the last reading left known, for a ring that knows nothing yet.
    pub fn whole(&self, last: &Reading) -> Reading {
        Reading {
            stepped_us: last.stepped_us,
            ..Reading::whole(last.at, &self.known)
        }
    }
}

/// All that a watch knows of its head, thing by thing.
pub fn noted(shown: &Shown) -> AllNoted {
    let mut all = Vec::new();
    let own = || shown.heads.values();
    all.extend(own().map(|head| Noted::Corosync(head.corosync)));
    all.extend(
        own()
            .filter_map(|head| head.pacemaker)
            .map(Noted::Pacemaker),
    );
    let ports = own().flat_map(|head| &head.interfaces);
    all.extend(ports.map(|(name, port)| {
        Noted::Port(NotedPort {
            interface: name.clone(),
            up: port.up,
            carrier: port.carrier,
            speed: port.speed,
        })
    }));
    all.extend(
        own()
            .filter_map(|head| NotedToken::of(&head.stats))
            .map(Noted::Token),
    );
    let drops = own().flat_map(|head| NotedDrops::of(&head.dropped_now));
    all.extend(drops.map(Noted::Drops));
    all.extend(
        own()
            .filter_map(|head| head.storage.as_ref())
            .flat_map(disks),
    );
    all.extend(shown.members.iter().map(|(node, state)| {
        let (node, state) = (node.clone(), *state);
        Noted::Member(NotedMember { node, state })
    }));
    for head in &shown.reading.heads {
        all.extend(head.quorate.map(Noted::Quorum));
        all.extend(head.links.iter().cloned().map(Noted::Link));
        all.extend(head.pools.iter().cloned().map(Noted::Pool));
        all.extend(head.exports.iter().cloned().map(Noted::Exports));
    }
    all.extend(shown.reading.alarms.iter().cloned().map(Noted::Alarm));
    all.into_iter().map(|one| (one.subject(), one)).collect()
}

/// What there is to know of a head's disks.
fn disks(storage: &StorageFacts) -> Vec<Noted> {
    let disks = NotedDisks::of(storage).map(Noted::Disks);
    let paths = NotedPaths::of(storage).map(Noted::Paths);
    let pools = storage.zpools.iter().take(ZPOOLS);
    let pools = pools.map(|(name, pool)| Noted::Zpool(NotedZpool::of(name, pool)));
    disks.into_iter().chain(paths).chain(pools).collect()
}

#[cfg(test)]
mod tests {
    use hawser_model::drops::{DropRecord, DropScope, DropSubject};
    use hawser_model::readings::Subject;
    use hawser_model::storage::{DiskFacts, ZpoolFacts};
    use hawser_model::units::Packets;

    use super::*;
    use crate::shown::ShownHead;

    #[test]
    fn a_reading_has_the_token_the_drops_and_the_disks_of_the_head() {
        let mut head = ShownHead {
            storage: Some(StorageFacts {
                disks: [("sda".to_owned(), DiskFacts::default())].into(),
                zpools: [("vmpool01".to_owned(), ZpoolFacts::default())].into(),
                ..StorageFacts::default()
            }),
            dropped_now: vec![DropRecord {
                reason: "NO_SOCKET".into(),
                location: String::new(),
                scope: DropScope::ThisHost,
                interface: None,
                subject: DropSubject::Other,
                packets: Packets(100),
            }],
            ..ShownHead::default()
        };
        let losses = "stats.srp.operational_token_lost".to_owned();
        head.stats.insert(losses, "2".to_owned());
        let shown = Shown {
            heads: [("head1".into(), head)].into(),
            ..Shown::default()
        };
        let all = noted(&shown);
        for subject in [
            Subject::Token,
            Subject::Drops("NO_SOCKET".into(), None),
            Subject::Disks,
            Subject::Zpool("vmpool01".into()),
        ] {
            assert!(all.contains_key(&subject), "{subject:?}: {all:?}");
        }
        assert!(!all.contains_key(&Subject::Paths), "{all:?}");
    }

    #[test]
    fn a_step_of_the_clock_is_told_once_and_a_busy_head_is_none() {
        let mut tape = Tape::default();
        let mut take = |second: u64, day: u64| {
            let reading = tape.take(
                Duration::from_secs(second),
                Moment(day * 1_000_000),
                AllNoted::new(),
            );
            reading.stepped_us
        };
        assert_eq!(take(10, 100_000), None);
        assert_eq!(take(11, 100_001), None);
        assert_eq!(take(41, 100_031), None);
        assert_eq!(take(42, 103_632), Some(3_600_000_000));
        assert_eq!(take(43, 103_633), None);
        assert_eq!(take(44, 100_034), Some(-3_600_000_000));
    }
}
