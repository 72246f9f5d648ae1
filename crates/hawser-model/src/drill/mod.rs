//! A drill: a fault that was planted under a writing client, and everything that was recorded of it.
//!
//! The case holds facts only: log lines as they stand in the nodes' files, the client's history in
//! numbers, who held which pool when. What the outage was made of, and whether the scenario's
//! promises held, `hawser-account` derives from it.

mod client;
mod cluster;
mod scenario;
mod timeline;
mod watch;

pub use client::{
    ClientBreach, ClientLoad, ClientRecord, PathChange, PathEvent, Stall, WriteCounts, WrongWrite,
};
pub use cluster::{
    ClusterFacts, FenceDeviceFacts, LinkMeasured, PauseFacts, PoolFacts, ResourceFacts, TotemFacts,
};
pub use scenario::{FaultRecord, Promises, Scenario, ServicePromise};
pub use timeline::{
    Clock, ClockStep, FenceEvent, Moment, NodeLogs, PowerEvent, PowerState, utc_offset_s,
};
pub use watch::{EndState, GracePeriod, Hold, Watch, WatchGap};

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::names::HostName;

/// The format of a drill's case file that this version writes and reads.
pub const DRILL_FORMAT: &str = "hawser-drill/1";

/// The facts of one drill: one scenario, once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DrillCase {
    /// `hawser-drill/1`.
    pub format: String,
    /// The version of Hawser that recorded it.
    pub hawser: String,
    /// When the drill began, seconds since 1970 UTC.
    pub recorded: u64,
    /// What every random choice of it came from.
    pub seed: u64,
    /// What was to happen, and what must hold.
    pub scenario: Scenario,
    /// The cluster as it was set when the drill began.
    pub cluster: ClusterFacts,
    /// What was done, in order.
    pub faults: Vec<FaultRecord>,
    /// What the client saw.
    pub client: ClientRecord,
    /// Who held which pool when.
    pub watch: Watch,
    /// The nodes' logs, from a few seconds before the first fault to the end. Of a node that was
    /// off at the end, what could be read once it was back.
    pub logs: BTreeMap<HostName, NodeLogs>,
    /// Fencing as Pacemaker's own history has it (`stonith_admin --history`), oldest first.
    #[serde(default)]
    pub fencing: Vec<FenceEvent>,
    /// What the nodes' power really did, where that can be known (a lab's own BMC), in order.
    #[serde(default)]
    pub power: Vec<PowerEvent>,
    /// The cluster after the final healing; absent when the drill did not get there.
    pub end: Option<EndState>,
    /// Why the drill ended early, or what could not be recorded; absent when it is complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
}
