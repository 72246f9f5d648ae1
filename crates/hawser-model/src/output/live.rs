//! What a watch shows of a cluster, as one of its heads knows it or as all of them say: the model of the live page.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::cluster::NodeCondition;
use super::watch::{Alarm, LinkReading};
use crate::finding::Severity;
use crate::names::{HostName, InterfaceName, LinkName};
use crate::units::{BitsPerSec, Packets};

/// Reasons of drops that are named for a port.
const REASONS_SHOWN: usize = 3;

/// A cluster as one head knows it at a moment, or all of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LivePage {
    /// The cluster; empty for hosts that were named without a cluster file.
    pub cluster: String,
    /// The head that watches. It asks itself and no other. Absent: all heads are asked.
    pub own: Option<HostName>,
    /// When the last reading was made, in seconds since 1970 UTC. Absent: not yet.
    pub read_at: Option<u64>,
    /// For how many seconds it has read nothing, if that is longer than it should be: what is shown is old.
    pub old_s: Option<u64>,
    /// When Pacemaker was asked, in seconds since 1970 UTC. Absent: it has no answer yet.
    pub asked_at: Option<u64>,
    /// The heads, in the file's order.
    pub heads: Vec<LiveHead>,
    /// The links, in the file's order.
    pub links: Vec<LiveLink>,
    /// The pools, in the file's order.
    pub pools: Vec<LivePool>,
    /// What is wrong, worst first.
    pub alarms: Vec<Alarm>,
    /// For each head, what Pacemaker says would happen if it died now.
    pub if_lost: BTreeMap<HostName, Vec<String>>,
    /// What happened before.
    pub incidents: LiveIncidents,
    /// What this head does not know, in words.
    pub not_known: Vec<String>,
}

impl LivePage {
    /// Whether it is of hosts that were named without a cluster file.
    pub fn is_of_hosts(&self) -> bool {
        self.cluster.is_empty()
    }
}

/// How something is, the best first. Nothing is shown by this alone: a word says what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Light {
    /// As it should be.
    Good,
    /// Not known here.
    Unknown,
    /// Not as it should be; clients do not notice.
    Warning,
    /// It does not do what it is for.
    Bad,
}

impl From<Severity> for Light {
    fn from(severity: Severity) -> Self {
        match severity {
            Severity::Note => Self::Good,
            Severity::Warning => Self::Warning,
            Severity::Error => Self::Bad,
        }
    }
}

/// A head.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveHead {
    /// Its name.
    pub name: HostName,
    /// How it is.
    pub light: Light,
    /// What it is in the cluster, as Pacemaker believes. Absent: not known.
    pub condition: Option<NodeCondition>,
    /// What only the head knows of itself; absent if it was not asked or did not answer.
    pub own: Option<OwnHead>,
    /// It was asked and did not answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_reached: Option<NotReached>,
}

/// A head that does not answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotReached {
    /// Why not.
    pub why: String,
    /// When it answered last, in seconds since 1970 UTC; absent: not since the watch began.
    pub seen_at: Option<u64>,
}

/// What a head knows of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnHead {
    /// Whether Corosync runs.
    pub corosync: bool,
    /// Whether Pacemaker runs; absent when that is not known.
    pub pacemaker: Option<bool>,
    /// Whether Corosync says that it has quorum; absent when it did not say.
    pub quorate: Option<bool>,
}

/// A link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LiveLink {
    /// Its name.
    pub name: LinkName,
    /// What it carries, in words.
    pub carries: String,
    /// The switch that it runs over, where the file names one.
    pub switch: Option<String>,
    /// The switch is where to look first: several of its links are down.
    pub suspect: bool,
    /// Its end at each head, in the order of the heads.
    pub ends: Vec<LiveEnd>,
}

/// One end of a link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LiveEnd {
    /// How it is.
    pub light: Light,
    /// What is known of it.
    pub what: EndKnown,
    /// How this head sees the ways to its peers over the link. Where one head alone watches they stand at the peers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ways: Vec<LinkReading>,
}

/// What is known of an end of a link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndKnown {
    /// The port of the head.
    Port(OwnPort),
    /// No interface of the head has its address on the link.
    NoPort,
    /// The way to a peer, by Corosync's pings.
    Peer(LinkReading),
    /// The head is on the link, and nothing tells of it.
    NotKnown,
    /// The head is not on the link.
    NotThere,
}

/// A port of a head.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnPort {
    /// The interface.
    pub interface: InterfaceName,
    /// Administratively up.
    pub up: bool,
    /// It has a carrier.
    pub carrier: bool,
    /// Its speed; absent where the driver reports none.
    pub speed: Option<BitsPerSec>,
    /// What the kernel dropped there in the last minute, by its own reason (`enum skb_drop_reason`).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub dropped: BTreeMap<String, Packets>,
}

/// A pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LivePool {
    /// Its name.
    pub name: String,
    /// How it is.
    pub light: Light,
    /// Where it is.
    pub on: PoolAt,
    /// How full it is, in percent; absent when its head did not say.
    pub used_percent: Option<u8>,
    /// Whether all of it is offered to its clients; absent when that is not known.
    pub offered: Option<bool>,
    /// What of it does not run or is not offered.
    pub missing: Vec<String>,
    /// Its addresses.
    pub addresses: Vec<LiveAddress>,
}

/// Where a pool is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PoolAt {
    /// On this head or another.
    Head(HostName),
    /// Nowhere.
    Nowhere,
    /// Not known here.
    NotKnown,
}

/// An address of a pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveAddress {
    /// The address.
    pub address: IpAddr,
    /// Its link.
    pub link: LinkName,
    /// Whether it is up where the pool is, as Pacemaker believes; absent when that is not known.
    pub up: Option<bool>,
}

/// What happened before, from what one head keeps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveIncidents {
    /// Whether its logs were read yet.
    pub read: bool,
    /// The newest, newest first.
    pub newest: Vec<LiveIncident>,
    /// How many older ones there are.
    pub older: usize,
    /// What stood in the way of telling more.
    pub gaps: Vec<String>,
}

/// An incident in a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveIncident {
    /// Its name, for `hawser incident show`.
    pub id: String,
    /// When it began, in the head's local time.
    pub began: String,
    /// What was away for how long.
    pub away: String,
    /// What began it.
    pub trigger: String,
}

impl LiveHead {
    /// What it is, in words.
    pub fn words(&self) -> String {
        let condition = self
            .condition
            .map_or("state not known", NodeCondition::word);
        let Some(own) = &self.own else {
            return condition.to_owned();
        };
        let mut all = vec![condition.to_owned()];
        match (own.corosync, own.pacemaker) {
            (false, _) => all.push("Corosync does not run".to_owned()),
            (true, Some(false)) => all.push("Pacemaker does not run".to_owned()),
            _ => {}
        }
        all.push(
            match own.quorate {
                Some(true) => "has quorum",
                Some(false) => "has NO quorum",
                None => "quorum not known",
            }
            .to_owned(),
        );
        all.join(", ")
    }
}

impl EndKnown {
    /// What is known of it, in one to three lines of words.
    pub fn words(&self) -> Vec<String> {
        match self {
            Self::Port(port) => {
                let name = &port.interface;
                let mut all = match (port.up, port.carrier, port.speed) {
                    (false, ..) => vec![format!("{name} is switched off")],
                    (true, false, _) => vec![format!("{name} has no carrier")],
                    (true, true, None) => vec![format!("{name} has carrier")],
                    (true, true, Some(speed)) => {
                        vec![format!("{name} has carrier"), speed.to_string()]
                    }
                };
                all.extend(port.dropped_words());
                all
            }
            Self::NoPort => vec!["no interface has its address".to_owned()],
            Self::Peer(link) => link.words(),
            Self::NotKnown => vec!["not known here".to_owned()],
            Self::NotThere => vec!["not on this link".to_owned()],
        }
    }
}

impl OwnPort {
    /// What the kernel dropped there, most first; nothing where it dropped nothing.
    fn dropped_words(&self) -> Option<String> {
        let mut all: Vec<_> = self.dropped.iter().collect();
        all.sort_by_key(|(_, packets)| Reverse(**packets));
        let named = all.iter().take(REASONS_SHOWN);
        let mut words: Vec<String> = named
            .map(|(reason, packets)| format!("{} {reason}", packets.0))
            .collect();
        let rest: Packets = all.iter().skip(REASONS_SHOWN).map(|(_, it)| **it).sum();
        if !rest.is_zero() {
            words.push(format!("{} for other reasons", rest.0));
        }
        let words = words.join(", ");
        (!words.is_empty()).then(|| format!("packets dropped in the last minute: {words}"))
    }
}

impl LivePool {
    /// How it is, in words.
    pub fn words(&self) -> String {
        let mut all = match &self.on {
            PoolAt::NotKnown => vec!["where it is, is not known".to_owned()],
            PoolAt::Nowhere => vec!["runs nowhere".to_owned()],
            PoolAt::Head(_) => match self.offered {
                Some(true) => vec!["offered".to_owned()],
                Some(false) => vec!["not offered as it was started".to_owned()],
                None => vec!["runs".to_owned()],
            },
        };
        all.extend(self.used_percent.map(|used| format!("{used} % full")));
        all.join(", ")
    }
}

impl LiveAddress {
    /// How it is.
    pub fn light(&self) -> Light {
        match self.up {
            Some(true) => Light::Good,
            Some(false) => Light::Bad,
            None => Light::Unknown,
        }
    }

    /// How it is, in a word.
    pub fn word(&self) -> &'static str {
        match self.up {
            Some(true) => "up",
            Some(false) => "down",
            None => "not known",
        }
    }
}
