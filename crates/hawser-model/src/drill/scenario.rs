//! What a drill does, and what must hold.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::timeline::Moment;
use crate::names::HostName;

/// What was to happen, and what must hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Scenario {
    /// Its name: `power-cut`.
    pub name: String,
    /// What it does, in a sentence.
    pub about: String,
    /// What must hold in it, beside what always must: no two heads with a pool, no acknowledged
    /// write lost, stale or torn, a healthy cluster after the final healing.
    pub promises: Promises,
}

/// What must hold in a scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Promises {
    /// The client's outage is no longer than this, in milliseconds; absent: nothing is promised.
    pub outage_ms: Option<u64>,
    /// What becomes of the service.
    pub service: ServicePromise,
    /// Only these nodes may be fenced.
    #[serde(default)]
    pub may_be_fenced: Vec<HostName>,
    /// Each of these is fenced. One that is listed here may be.
    #[serde(default)]
    pub must_be_fenced: Vec<HostName>,
    /// At most so many nodes are fenced; absent: all that may be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fenced_at_most: Option<u32>,
    /// No head takes over a pool that it did not have before the fault, until it is healed.
    #[serde(default)]
    pub no_takeover: bool,
    /// `hawser status` says that something is wrong while the fault lasts.
    #[serde(default)]
    pub operator_is_told: bool,
}

/// What becomes of the service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ServicePromise {
    /// Clients write again before anything is healed.
    #[default]
    Survives,
    /// Clients write again once the fault is healed.
    Returns,
}

/// A fault as it was made, verified and healed. A planned switchover is one too. All moments are
/// by the drill's clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FaultRecord {
    /// Its name: `power-cut`.
    pub name: String,
    /// The nodes it hits.
    pub hosts: Vec<HostName>,
    /// What else it hits: a link, a switch, a process, a resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// The last moment at which it had surely not begun: right before it was ordered.
    pub ordered: Moment,
    /// The first moment at which it was surely there: the return of the order, or better.
    pub made: Moment,
    /// When it was verified to have really happened; absent when it could not be.
    pub verified: Option<Moment>,
    /// What showed that it happened, or why it was not verified.
    #[serde(default)]
    pub evidence: String,
    /// When its healing was ordered; absent when it was not healed.
    pub heal_ordered: Option<Moment>,
    /// When it was healed.
    pub healed: Option<Moment>,
}
