//! Clocks, log lines, and what happened to nodes when.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::names::HostName;

/// A point in time: microseconds since 1970 UTC, by the clock its place says.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(transparent)]
pub struct Moment(pub u64);

impl Moment {
    /// Seconds from an earlier moment to this one; negative when it is later.
    pub fn since(self, earlier: Self) -> f64 {
        (i128::from(self.0) - i128::from(earlier.0)) as f64 / 1e6
    }

    /// Moved by so many microseconds.
    pub fn shifted(self, us: i64) -> Self {
        Self(self.0.saturating_add_signed(us))
    }
}

/// How a machine's clock stands to the drill's own (that of the machine which runs the drill).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Clock {
    /// What must be added to a moment of that clock to have it on the drill's, in microseconds.
    pub offset_us: i64,
    /// How far off that may be, either way, in microseconds: half of the shortest round trip in
    /// which it was asked. 0 where both are one clock, as in a lab of namespaces.
    pub error_us: u64,
}

/// What a node wrote into its logs.
///
/// Lines are kept as they stand in the file; those that only repeat the CIB's differences may be
/// left out (`hawser_account::outage::tells`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeLogs {
    /// The node's clock.
    pub clock: Clock,
    /// The node's time zone in seconds east of UTC: log lines have local time, and no year.
    #[serde(default)]
    pub utc_offset_s: i32,
    /// Lines of corosync.log.
    pub corosync: Vec<String>,
    /// Lines of pacemaker.log.
    pub pacemaker: Vec<String>,
    /// Why there is nothing, or not all; absent when all is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A fencing in Pacemaker's history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FenceEvent {
    /// The node that was shot at.
    pub target: HostName,
    /// `off`, `reboot`.
    pub action: String,
    /// The node that did it.
    pub delegate: Option<HostName>,
    /// Whether it was said to have worked.
    pub succeeded: bool,
    /// When it was completed, by the delegate's clock; Pacemaker keeps whole seconds.
    pub completed: Moment,
}

/// A node's power as its BMC switched it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PowerEvent {
    /// The node.
    pub host: HostName,
    /// When, by the drill's clock.
    pub at: Moment,
    /// What happened.
    pub what: PowerState,
}

/// What happened to a node's power.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PowerState {
    /// Its BMC was told to switch it off.
    OffOrdered,
    /// It has no power.
    Off,
    /// Its BMC was told to switch it on.
    OnOrdered,
    /// It has power.
    On,
}
