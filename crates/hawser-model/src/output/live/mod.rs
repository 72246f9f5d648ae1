//! What a watch shows of a cluster, as one of its heads knows it or as all of them say: the model of the live page.

mod link;
mod pool;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::cluster::NodeCondition;
use super::watch::Alarm;
use crate::finding::Severity;
use crate::names::HostName;

pub use link::{EndKnown, LiveEnd, LiveLink, OwnPort};
pub use pool::{LiveAddress, LiveDevice, LivePath, LivePool, PoolAt};

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
    /// What is happening now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running: Option<LiveRunning>,
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

/// An incident that is under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveRunning {
    /// When its first sign was seen, in seconds since 1970 UTC.
    pub since: u64,
    /// It was seen as soon as anything was: it may have begun before.
    pub or_before: bool,
    /// Its first sign, in words.
    pub trigger: String,
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
        let condition = self.condition.unwrap_or(NodeCondition::Unknown).word();
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
