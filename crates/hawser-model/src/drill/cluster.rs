//! The cluster as it was set when the drill began, as far as it decides how long an outage lasts.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::names::{HostName, LinkName};
use crate::units::{Nanos, Packets};

/// The cluster as it was set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClusterFacts {
    /// Its name.
    pub name: String,
    /// The lab it stands in; absent for real heads.
    pub lab: Option<String>,
    /// Its nodes.
    pub nodes: Vec<HostName>,
    /// Its pools.
    pub pools: Vec<PoolFacts>,
    /// Corosync's timing in force (`corosync-cmapctl runtime.config.totem`).
    pub totem: TotemFacts,
    /// Pacemaker's cluster properties (`crm_config`).
    pub properties: BTreeMap<String, String>,
    /// Its fence devices.
    pub fence_devices: Vec<FenceDeviceFacts>,
    /// What was measured of the heartbeat links before the fault; empty when nothing was.
    #[serde(default)]
    pub links: BTreeMap<LinkName, LinkMeasured>,
    /// How long each node's processes did not run; empty when that was not measured.
    #[serde(default)]
    pub pauses: BTreeMap<HostName, PauseFacts>,
}

/// A pool and what Pacemaker makes of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PoolFacts {
    /// Its name.
    pub name: String,
    /// The node that had it when the drill began.
    pub active_on: Option<HostName>,
    /// Its resources, in the order in which they start.
    pub resources: Vec<ResourceFacts>,
}

/// A resource of Pacemaker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResourceFacts {
    /// Its name.
    pub name: String,
    /// Its agent: `ocf:heartbeat:IPaddr2`.
    pub agent: String,
    /// Its parameters, secrets left out.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
}

/// Corosync's timing in force, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TotemFacts {
    /// Silence for so long is the loss of a node (`runtime.config.totem.token`: with three nodes
    /// and more, longer than what the file says).
    pub token_ms: u64,
    /// The others then confer so long.
    pub consensus_ms: u64,
}

/// A fence device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FenceDeviceFacts {
    /// Its name.
    pub name: String,
    /// Its agent: `fence_ipmilan`.
    pub agent: String,
    /// The nodes it can fence.
    pub targets: Vec<HostName>,
    /// Its parameters as they were given, secrets and accounts left out: `power_wait`,
    /// `pcmk_delay_base`, `pcmk_delay_max`, `delay`, `power_timeout`, …
    pub parameters: BTreeMap<String, String>,
}

/// Heartbeat-like packets over a link, the worst of all directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LinkMeasured {
    /// Packets sent.
    pub sent: Packets,
    /// Without an answer.
    pub lost: Packets,
    /// Half of the round trips took no longer; of kronosnet's own pings, their running mean.
    pub median: Nanos,
    /// The longest round trip.
    pub longest: Nanos,
}

/// The longest time a node's processes did not run: a thread that wanted to wake up every few
/// milliseconds and was late. One of ordinary priority is late at least as long as Corosync,
/// which has real-time priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PauseFacts {
    /// How long that was watched.
    pub watched: Nanos,
    /// The latest wake-up.
    pub longest: Nanos,
}
