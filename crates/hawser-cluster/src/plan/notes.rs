//! What is worth knowing about a file or a cluster and no reason to stop.

use std::collections::BTreeSet;
use std::fmt;

use hawser_model::cluster_file::{ClusterFile, NodeEntry, Period, PoolKind, Role};

use super::diff::CibDiff;
use super::facts::Facts;
use super::forecast::{Forecast, forecast};
use crate::cib::edit::in_standby;
use crate::timing::DUEL;
use crate::units::WATCH_UNIT;
use crate::xml::Element;

/// A note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// How long it takes when a head dies.
    Forecast(Forecast),
    /// What a delay costs when the node it protects really dies.
    Delay {
        /// The node.
        node: String,
        /// The delay.
        delay: Period,
    },
    /// Delays that are too alike: both nodes may shoot before either is off.
    Duel {
        /// The node that the delay is for.
        node: String,
        /// How much later it is shot at than the other.
        apart: Period,
    },
    /// One heartbeat link only.
    OneLink(String),
    /// All heartbeat links run over one switch.
    OneSwitch(String),
    /// No fencing.
    NoFencing,
    /// A quorum device, whose other end is the operator's.
    QuorumDevice(String),
    /// multihost costs time at each import.
    Multihost(String),
    /// Somebody else's object, left alone.
    LeftAlone(String),
    /// A pool is offered by others, from within the group that it keeps.
    OfferedByOthers {
        /// The pool.
        pool: String,
        /// The resources.
        by: Vec<String>,
    },
    /// A client that is not asked waits less long than a head's death takes.
    ClientGivesUp {
        /// The client.
        client: String,
        /// How long it waits.
        waits: Period,
        /// What that is held against.
        forecast: Forecast,
    },
    /// A head could not have a pool that it may run: in words.
    NoTakeover(String),
    /// The unit of a node's watch is the site's own.
    OwnWatchUnit(String),
    /// A node in standby.
    Standby(String),
    /// What Pacemaker does at this moment.
    UnderWay(Vec<String>),
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Forecast(forecast) => write!(f, "{forecast}"),
            Self::Delay { node, delay } => write!(
                f,
                "when {node} dies its pools are taken over {delay} later than they could be: the \
                 cost of letting it win a fencing race"
            ),
            Self::Duel { node, apart } => write!(
                f,
                "when all heartbeat links fail both nodes may be switched off: the shot at {node} is held back only {apart} \
                 longer, and Pacemaker's controller may sleep a second before it shoots; give {node} {DUEL} more than the \
                 other under [fencing] delay, and what the BMCs take to cut the power"
            ),
            Self::OneLink(link) => write!(
                f,
                "{link} is the only heartbeat link: when it fails, healthy nodes shoot each other"
            ),
            Self::OneSwitch(switch) => {
                write!(f, "all heartbeat links run over switch {switch} and fail together")
            }
            Self::NoFencing => f.write_str(
                "there is no fencing: when the nodes lose sight of each other, both import the pools \
                 and destroy them",
            ),
            Self::QuorumDevice(host) => write!(
                f,
                "the quorum device needs corosync-qnetd on {host}, which Hawser does not reach: `hawser status` says \
                 whether it votes"
            ),
            Self::Multihost(pool) => write!(
                f,
                "{pool} has multihost on: the import of a pool whose head was lost takes 20 to 30 s more, and since \
                 OpenZFS 2.3.6 each import on another host (openzfs/zfs#18855); fencing already sees to it that \
                 nobody else writes"
            ),
            Self::LeftAlone(object) => {
                write!(f, "{object} was not made by Hawser and is left alone")
            }
            Self::OfferedByOthers { pool, by } => write!(
                f,
                "{pool} is offered by {}, which others made and which stays as it is. In its place Hawser's own exports \
                 pause the pool: docs/import.md, \"Replacing it instead\"",
                by.join(", ")
            ),
            Self::ClientGivesUp {
                client,
                waits,
                forecast,
            } => write!(
                f,
                "client {client} gives up its disks after {:.1} s, and {forecast}",
                waits.0.as_secs_f64()
            ),
            Self::NoTakeover(why) => f.write_str(why),
            Self::OwnWatchUnit(node) => write!(
                f,
                "{WATCH_UNIT} on {node} was not made by Hawser: its text is left alone"
            ),
            Self::Standby(node) => write!(f, "{node} is in standby: nothing runs there"),
            Self::UnderWay(steps) => write!(
                f,
                "Pacemaker is busy: {}. Where pools are and how long clients wait is known when it is done; `apply` \
                 waits for it first",
                steps.join(", then ")
            ),
        }
    }
}

/// Clients that are not asked and wait less long than the slowest death of a head.
fn clients(file: &ClusterFile, all: &[Forecast]) -> Vec<Note> {
    let Some(slowest) = all.iter().max_by_key(|it| it.latest()) else {
        return Vec::new();
    };
    let stated = file.clients.iter().filter_map(|client| {
        let waits = client.gives_up;
        let waits = waits.filter(|waits| *waits < slowest.latest())?;
        Some(Note::ClientGivesUp {
            client: client.name.to_string(),
            waits,
            forecast: slowest.clone(),
        })
    });
    stated.collect()
}

/// Notes on a file, on the live CIB and on what lies between them.
pub fn notes(file: &ClusterFile, live: &Element, diff: &CibDiff) -> Vec<Note> {
    let mut notes = Vec::new();
    let all = forecast(file, live);
    let early = clients(file, &all);
    notes.extend(match Forecast::of_any(&all) {
        Some(any) => vec![Note::Forecast(any)],
        None => all.into_iter().map(Note::Forecast).collect(),
    });
    notes.extend(early);
    for (node, delay) in file.fencing.iter().flat_map(|fencing| &fencing.delay) {
        let (node, delay) = (node.to_string(), **delay);
        notes.push(Note::Delay { node, delay });
    }
    notes.extend(duel(file));
    let links: Vec<_> = file.links_with(Role::Heartbeat).collect();
    let switches: BTreeSet<_> = links.iter().map(|link| link.switch.as_deref()).collect();
    match (&links[..], switches.first()) {
        ([only], _) => notes.push(Note::OneLink(only.name.to_string())),
        (_, Some(Some(switch))) if switches.len() == 1 => {
            notes.push(Note::OneSwitch((*switch).to_owned()));
        }
        _ => {}
    }
    if file
        .fencing
        .as_ref()
        .is_some_and(|fencing| fencing.none.is_some())
    {
        notes.push(Note::NoFencing);
    }
    let device = file.quorum.device.as_ref();
    notes.extend(device.map(|device| Note::QuorumDevice(device.host.to_string())));
    let multihost = |pool: &&hawser_model::cluster_file::Pool| {
        *pool.kind == PoolKind::Zfs && pool.multihost.as_ref().is_some_and(|multihost| **multihost)
    };
    notes.extend(
        file.pools
            .iter()
            .filter(multihost)
            .map(|p| Note::Multihost(p.name.to_string())),
    );
    notes.extend(
        in_standby(live)
            .into_iter()
            .map(|node| Note::Standby(node.to_owned())),
    );
    notes.extend(
        diff.left_alone
            .iter()
            .map(|key| Note::LeftAlone(key.to_string())),
    );
    notes
}

/// Heads that could not have a pool that they may run: on the day its head dies they would fail.
pub(super) fn no_takeover(facts: &Facts) -> impl Iterator<Item = Note> {
    facts.nodes.iter().flat_map(|(head, there)| {
        let pools = there.pools.iter();
        let why = pools.filter_map(|(pool, seen)| seen.no_takeover(pool, head));
        why.map(Note::NoTakeover)
    })
}

/// Of two nodes without a third vote one must shoot clearly before the other. That the delays differ at all, the file's
/// own rules see to.
fn duel(file: &ClusterFile) -> Option<Note> {
    let [first, second] = &file.nodes[..] else {
        return None;
    };
    let fencing = file.fencing.as_ref()?;
    if file.quorum.device.is_some() || fencing.none.is_some() {
        return None;
    }
    let delay = |node: &NodeEntry| fencing.delay_of(node.name.as_str()).as_millis();
    let later = if delay(first) > delay(second) {
        first
    } else {
        second
    };
    let apart = Period::from_millis(delay(first).abs_diff(delay(second)));
    (apart < DUEL).then(|| Note::Duel {
        node: later.name.to_string(),
        apart,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(fencing: &str) -> Option<String> {
        let node = |name: &str, last: u8| {
            format!(
                "[[node]]\nname = \"{name}\"\nbmc = {{ address = \"192.0.2.{last}\", username = \"u\", password = \"file:/p\" }}\n"
            )
        };
        let nodes = node("a", 1) + &node("b", 2);
        let text = format!("[cluster]\nname = \"t\"\n{nodes}{fencing}\n");
        let file = hawser_model::cluster_file::parse(&text, "test").unwrap();
        duel(&file).map(|note| note.to_string())
    }

    #[test]
    fn shots_that_are_less_than_two_seconds_apart_are_told() {
        for few in ["{ b = \"1s\" }", "{ a = \"10s\", b = \"11900ms\" }"] {
            let said = said(&format!("[fencing]\ndelay = {few}")).unwrap();
            assert!(said.contains("the shot at b is held back only 1"), "{said}");
            assert!(said.contains("give b 2s more than the other"), "{said}");
        }
        for enough in ["{ b = \"2s\" }", "{ a = \"10s\" }"] {
            assert_eq!(
                said(&format!("[fencing]\ndelay = {enough}")),
                None,
                "{enough}"
            );
        }
    }
}
