//! Who held which pool when, and how all stood at the end.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::timeline::Moment;
use crate::names::HostName;

/// Who held which pool when, as it was watched from outside from before the first fault to the
/// end. All moments are by the drill's clock.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Watch {
    /// Each node was looked at so often, in microseconds.
    pub every_us: u64,
    /// How often they were looked at, all together.
    pub samples: u64,
    /// From when each pool was active on which node till when.
    pub holds: Vec<Hold>,
    /// Where a node could not be looked at although it may have been alive.
    #[serde(default)]
    pub gaps: Vec<WatchGap>,
    /// When the NFS server of which node was in its grace period.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub graces: Vec<GracePeriod>,
    /// What `hawser status` called degraded while a fault lasted, in its words, each once.
    #[serde(default)]
    pub degraded: Vec<String>,
}

/// A time in which a node had a pool: its storage was mounted or imported there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Hold {
    /// The pool.
    pub pool: String,
    /// The node.
    pub host: HostName,
    /// The first look that found it there.
    pub first: Moment,
    /// The last look that found it there.
    pub last: Moment,
    /// The look after that, which did not find it; absent when the node could not be looked at
    /// any more, or when the watch ended.
    pub gone: Option<Moment>,
}

/// A time in which a node could not be looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WatchGap {
    /// The node.
    pub host: HostName,
    /// The last look before.
    pub from: Moment,
    /// The first one after.
    pub to: Moment,
    /// Why.
    pub why: String,
}

/// A time in which the NFS server of a node was in its grace period: clients reclaim what they had, and nothing else is opened or
/// locked (RFC 8881, 8.4.2.1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GracePeriod {
    /// The node.
    pub host: HostName,
    /// The first look that found it so.
    pub first: Moment,
    /// The last look that did.
    pub last: Moment,
    /// The look after that, which found it over; absent when the node could not be looked at any more, or when the watch ended.
    pub over: Option<Moment>,
}

/// The cluster after the final healing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EndState {
    /// `redundant` of `hawser status`.
    pub redundant: bool,
    /// `degraded` of `hawser status`.
    pub degraded: Vec<String>,
    /// When that was so, by the drill's clock.
    pub at: Moment,
}
