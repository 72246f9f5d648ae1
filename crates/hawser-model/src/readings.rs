//! What a watch reads of its head, one thing at a time, as it changes: what a ring of readings holds.

mod counted;
mod disks;
mod words;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::drill::Moment;
use crate::finding::Place;
use crate::names::{HostName, InterfaceName, LinkName};
use crate::output::cluster::NodeCondition;
use crate::output::watch::{Alarm, ExportReading, LinkReading, PoolReading};
use crate::units::BitsPerSec;

pub use counted::{NotedDrops, NotedToken};
pub use disks::{NotedDisk, NotedDisks, NotedPath, NotedPaths, NotedZpool};

/// One thing that is read, as it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Noted {
    /// An interface.
    Port(NotedPort),
    /// A heartbeat link.
    Link(LinkReading),
    /// Whether Corosync runs.
    Corosync(bool),
    /// Whether Pacemaker runs.
    Pacemaker(bool),
    /// Whether Corosync says that it has quorum.
    Quorum(bool),
    /// What a node of the cluster is, as this head sees it.
    Member(NotedMember),
    /// A pool on this head.
    Pool(PoolReading),
    /// What this head offers of a pool.
    Exports(ExportReading),
    /// Corosync's token.
    Token(NotedToken),
    /// What the kernel drops of one kind.
    Drops(NotedDrops),
    /// The SCSI disks.
    Disks(NotedDisks),
    /// The paths of multipath devices.
    Paths(NotedPaths),
    /// A ZFS pool that is imported.
    Zpool(NotedZpool),
    /// An alarm that stands.
    Alarm(Alarm),
}

/// An interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotedPort {
    /// The interface.
    pub interface: InterfaceName,
    /// Administratively up.
    pub up: bool,
    /// It has a carrier.
    pub carrier: bool,
    /// Its speed; absent where the driver reports none.
    pub speed: Option<BitsPerSec>,
}

/// A node of the cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotedMember {
    /// The node.
    pub node: HostName,
    /// What it is.
    pub state: NodeCondition,
}

/// Which thing it is, whatever its state.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// An interface.
    Port(InterfaceName),
    /// A heartbeat link to a peer.
    Link(LinkName, HostName),
    /// Corosync.
    Corosync,
    /// Pacemaker.
    Pacemaker,
    /// The quorum.
    Quorum,
    /// A node of the cluster.
    Member(HostName),
    /// A pool.
    Pool(String),
    /// What is offered of a pool.
    Exports(String),
    /// Corosync's token.
    Token,
    /// Why the kernel drops, and on which interface.
    Drops(String, Option<InterfaceName>),
    /// The SCSI disks.
    Disks,
    /// The paths of multipath devices.
    Paths,
    /// A ZFS pool.
    Zpool(String),
    /// A code, and where.
    Alarm(String, Place),
}

/// All that is known at a moment.
pub type AllNoted = BTreeMap<Subject, Noted>;

impl Noted {
    /// Which thing it is.
    pub fn subject(&self) -> Subject {
        match self {
            Self::Port(port) => Subject::Port(port.interface.clone()),
            Self::Link(link) => Subject::Link(link.name.clone(), link.peer.clone()),
            Self::Corosync(_) => Subject::Corosync,
            Self::Pacemaker(_) => Subject::Pacemaker,
            Self::Quorum(_) => Subject::Quorum,
            Self::Member(member) => Subject::Member(member.node.clone()),
            Self::Pool(pool) => Subject::Pool(pool.name.clone()),
            Self::Exports(exports) => Subject::Exports(exports.pool.clone()),
            Self::Token(_) => Subject::Token,
            Self::Drops(drops) => Subject::Drops(drops.why.clone(), drops.interface.clone()),
            Self::Disks(_) => Subject::Disks,
            Self::Paths(_) => Subject::Paths,
            Self::Zpool(pool) => Subject::Zpool(pool.name.clone()),
            Self::Alarm(alarm) => Subject::Alarm(alarm.code.clone(), alarm.place.clone()),
        }
    }

    /// Whether the two are the same but for numbers that change all the time: round trips, counts, words of an alarm, how far a
    /// resilver is.
    pub fn is_as(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Link(a), Self::Link(b)) => {
                (&a.name, &a.peer, a.state) == (&b.name, &b.peer, b.state)
            }
            (Self::Pool(a), Self::Pool(b)) => (&a.name, a.here) == (&b.name, b.here),
            (Self::Token(a), Self::Token(b)) => a.is_as(b),
            (Self::Drops(a), Self::Drops(b)) => a.is_as(b),
            (Self::Zpool(a), Self::Zpool(b)) => a.is_as(b),
            (Self::Alarm(a), Self::Alarm(b)) => {
                (&a.code, &a.place, a.severity) == (&b.code, &b.place, b.severity)
            }
            (a, b) => a == b,
        }
    }
}

/// What is new since the last reading.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// When, by the head's clock.
    pub at: Moment,
    /// By how much that clock was stepped since the last reading, in microseconds; absent: it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stepped_us: Option<i64>,
    /// All that is known is in `now`: what came before does not count.
    #[serde(default, skip_serializing_if = "is_false")]
    pub whole: bool,
    /// What was not there before, or is another now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub now: Vec<Noted>,
    /// What is not there any more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<Subject>,
}

fn is_false(whole: &bool) -> bool {
    !whole
}

impl Reading {
    /// What has changed from one moment to the next. The words of an alarm that stands are no change.
    pub fn between(at: Moment, before: &AllNoted, now: &AllNoted) -> Self {
        let is_new = |seen: &&Noted| match (before.get(&seen.subject()), seen) {
            (Some(known @ Noted::Alarm(_)), seen) => !known.is_as(seen),
            (Some(known), seen) => known != *seen,
            (None, _) => true,
        };
        let gone = before.keys().filter(|thing| !now.contains_key(thing));
        Self {
            at,
            now: now.values().filter(is_new).cloned().collect(),
            gone: gone.cloned().collect(),
            ..Self::default()
        }
    }

    /// All that is known, as a reading.
    pub fn whole(at: Moment, known: &AllNoted) -> Self {
        Self {
            at,
            whole: true,
            now: known.values().cloned().collect(),
            ..Self::default()
        }
    }

    /// What is known after it.
    pub fn apply(&self, known: &mut AllNoted) {
        if self.whole {
            known.clear();
        }
        for seen in &self.now {
            known.insert(seen.subject(), seen.clone());
        }
        for thing in &self.gone {
            known.remove(thing);
        }
    }

    /// Whether it says no more than that something was read.
    pub fn is_quiet(&self) -> bool {
        self.stepped_us.is_none() && !self.whole && self.now.is_empty() && self.gone.is_empty()
    }
}

/// Some readings of a ring, with what there is to know of their place in it. Moments are as the head's logs stamp them: its
/// local time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KeptReadings {
    /// From what stood at the beginning, which is whole, on; those that say nothing are left out.
    pub readings: Vec<Reading>,
    /// The first reading of the whole ring; absent: there is none.
    pub oldest: Option<Moment>,
    /// The last one.
    pub newest: Option<Moment>,
    /// Times without a reading, of those that were asked for: no watch ran, or the disk took none.
    pub gaps: Vec<(Moment, Moment)>,
    /// Of a part of that time a reading a minute is left, and each change of state.
    pub thinned: bool,
    /// Lines of the whole ring that are damaged.
    pub damaged: u64,
    /// Readings that were asked for and did not fit into an answer.
    pub left_out: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::watch::LinkState;

    fn link(state: LinkState, latency_s: f64) -> Noted {
        Noted::Link(LinkReading {
            name: "ring1".into(),
            peer: "head2".into(),
            state,
            latency_s: Some(latency_s),
            lost: Some(0),
            sent: Some(10),
        })
    }

    fn known(of: &[Noted]) -> AllNoted {
        of.iter()
            .map(|seen| (seen.subject(), seen.clone()))
            .collect()
    }

    #[test]
    fn a_reading_has_what_is_new_and_what_is_gone_and_makes_the_next_from_the_last() {
        let before = known(&[
            Noted::Quorum(true),
            Noted::Corosync(true),
            link(LinkState::Up, 0.1),
        ]);
        let after = known(&[
            Noted::Quorum(false),
            Noted::Corosync(true),
            link(LinkState::Up, 0.2),
        ]);
        let reading = Reading::between(Moment(7), &before, &after);
        assert_eq!(
            reading.now,
            [link(LinkState::Up, 0.2), Noted::Quorum(false)]
        );
        let mut made = before.clone();
        reading.apply(&mut made);
        assert_eq!(made, after);
        let nothing = Reading::between(Moment(8), &after, &AllNoted::new());
        assert_eq!(nothing.gone.len(), 3);
        nothing.apply(&mut made);
        assert_eq!(made, AllNoted::new());
        Reading::whole(Moment(9), &before).apply(&mut made);
        assert_eq!(made, before);
        assert!(Reading::between(Moment(9), &before, &before).is_quiet());
    }

    #[test]
    fn numbers_are_no_change_of_state() {
        assert!(link(LinkState::Up, 0.1).is_as(&link(LinkState::Up, 0.2)));
        assert!(!link(LinkState::Up, 0.1).is_as(&link(LinkState::Down, 0.1)));
        let said = link(LinkState::Up, 0.000_312).to_string();
        assert_eq!(said, "link ring1 to head2 is up, round trip 0.312 ms");
        let ended = |place| Subject::Alarm("head-away".into(), place).to_string();
        assert_eq!(ended(Place::default()), "ended: head-away");
        assert_eq!(ended(Place::on(&"head1".into())), "ended: head-away: head1");
    }
}
