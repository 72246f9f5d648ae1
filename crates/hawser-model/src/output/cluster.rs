//! What `hawser plan`, `apply`, `status`, `standby`, `online` and `move` print with `--json`.

use std::collections::BTreeMap;
use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::names::HostName;

/// What `hawser plan --json` prints.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanOutput {
    /// What changes, in the order it is done. Empty: the nodes are what the file says.
    pub changes: Vec<Change>,
    /// What Pacemaker will do about it, in words, in order.
    #[serde(default)]
    pub consequence: Vec<String>,
    /// Why it cannot be applied as it is, in words. Empty: it can.
    #[serde(default)]
    pub problems: Vec<String>,
    /// What is worth knowing and no reason to stop, in words: a head that could not take a pool over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// With `--diff`: what is live against what is to be, as a unified diff without secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

/// A change, as people and scripts see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// What it is done to: `resource vmpool01`, `corosync.conf on head1`.
    pub object: String,
    /// What is done.
    pub action: Action,
    /// True when clients of some pool notice it.
    pub disruptive: bool,
    /// What changes and what that leads to, in words.
    pub text: String,
}

/// What is done to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// It is made.
    Create,
    /// It is changed.
    Change,
    /// It is removed.
    Remove,
}

/// What `hawser status --json` prints: a cluster at this moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClusterStatus {
    /// Its name.
    pub cluster: String,
    /// Whether its pools are served, and whether they would be after the next loss.
    pub state: ServiceState,
    /// Why it is not redundant, or what is not served; absent when it is redundant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether the nodes that were reached have quorum.
    pub quorate: bool,
    /// Whether any one node and any one heartbeat link can be lost now without a pool being lost.
    pub redundant: bool,
    /// The head whose view of the cluster this is; absent when none has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view_of: Option<HostName>,
    /// What is not as it should be, in words. Empty: all is well.
    pub degraded: Vec<String>,
    /// What is worth knowing although nothing is degraded by it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The quorum device; absent when the cluster file has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quorum_device: Option<QuorumDeviceStatus>,
    /// The nodes, in the file's order.
    pub nodes: Vec<NodeStatus>,
    /// The pools, in the file's order.
    pub pools: Vec<PoolStatus>,
    /// For each node, what Pacemaker says would happen if it died now, in order.
    pub if_lost: BTreeMap<HostName, Vec<String>>,
    /// The last time that a pool went from one node to another, as far as Pacemaker remembers.
    pub last_takeover: Option<Takeover>,
}

/// Whether the pools of a cluster are served, and whether they would be after the next loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ServiceState {
    /// All are served, and any one node or heartbeat link can be lost.
    Redundant,
    /// All are served, and the next loss may be an outage.
    NotRedundant,
    /// Not all are served yet: the cluster is starting them.
    Starting,
    /// Not all are served.
    Down,
    /// Nobody knows: no head that was reached says how the cluster stands, and one that was not, or whose engine does not
    /// answer, may serve them.
    Unknown,
}

/// A quorum device at this moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QuorumDeviceStatus {
    /// The machine that lends its vote.
    pub host: String,
    /// Whether it votes on every node that was asked.
    pub votes: bool,
}

/// A node at this moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeStatus {
    /// The node.
    pub name: HostName,
    /// What it is.
    pub state: NodeCondition,
}

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NodeCondition {
    /// A member that may run pools.
    Online,
    /// A member that may run nothing.
    Standby,
    /// A member on which nothing is touched.
    Maintenance,
    /// Booting or joining; it may run nothing yet.
    Starting,
    /// Gone, and known to be off.
    Offline,
    /// Gone, and not known to be off: nothing of it is taken over yet.
    Unclean,
    /// It was not reached, or its engine does not answer, and no other head says what it is.
    Unknown,
}

impl NodeCondition {
    /// In words.
    pub fn word(self) -> &'static str {
        match self {
            Self::Online => "online",
            Self::Standby => "in standby",
            Self::Maintenance => "in maintenance",
            Self::Starting => "starting",
            Self::Offline => "offline",
            Self::Unclean => "lost, and not known to be off",
            Self::Unknown => "state not known",
        }
    }
}

/// A pool at this moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PoolStatus {
    /// The pool.
    pub name: String,
    /// The node that has it.
    pub active_on: Option<HostName>,
    /// Its addresses.
    pub addresses: Vec<PoolAddress>,
    /// What offers it to its clients.
    pub exports: Vec<PoolExport>,
}

/// An address of a pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PoolAddress {
    /// The address.
    pub address: IpAddr,
    /// Whether it is up where the pool is.
    pub up: bool,
}

/// A resource that offers a pool to its clients.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PoolExport {
    /// Its name in Pacemaker.
    pub resource: String,
    /// Whether it runs where the pool is.
    pub up: bool,
}

/// A pool that went from one node to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Takeover {
    /// The pool.
    pub pool: String,
    /// The node it left.
    pub from: HostName,
    /// The node that has it since.
    pub to: HostName,
    /// When its storage had started there, in seconds since 1970 UTC.
    pub at: u64,
    /// True when the node it left was fenced; false when it gave the pool up.
    pub fenced: bool,
}

/// What `hawser standby`, `hawser online` and `hawser move` print with `--json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OperateOutput {
    /// What was ordered.
    pub order: OperateOrder,
    /// The node.
    pub node: HostName,
    /// The pool that was moved; absent when it was not one that was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<String>,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// Each pool, before and after.
    pub pools: Vec<OperatedPool>,
    /// What clients do not have, in words. Empty: all is served.
    pub not_served: Vec<String>,
    /// Why the node is not what was ordered, in words. Empty: it is.
    #[serde(default)]
    pub not_done: Vec<String>,
}

/// What a person orders of a running cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OperateOrder {
    /// Nothing may run on the node.
    Standby,
    /// It may again.
    Online,
    /// A pool is sent to it.
    Move,
}

/// A pool before and after an order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OperatedPool {
    /// The pool.
    pub name: String,
    /// The node that had it.
    pub was_on: Option<HostName>,
    /// The node that has it.
    pub is_on: Option<HostName>,
    /// Whether its clients reached it before.
    pub was_served: bool,
    /// Whether they reach it now: its storage, one of its exports and one of its addresses run on one node.
    pub served: bool,
    /// Its exports and addresses that do not run where it is.
    pub down: Vec<String>,
    /// Why nobody serves it; absent when somebody does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why_not: Option<String>,
}

/// What `hawser apply --json` prints.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApplyOutput {
    /// Whether anything was changed; with `--dry-run`, whether anything would be.
    #[serde(default)]
    pub changed: bool,
    /// What was changed, in the order it was done.
    pub changes: Vec<Change>,
    /// What does not run although everything is as the file says, and why, in words.
    pub not_running: Vec<String>,
    /// What was worth knowing before and no reason to stop, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// With `--diff`: what was live against what was to be, as a unified diff without secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}
