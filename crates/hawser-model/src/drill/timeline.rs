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

/// A clock that was set ahead, or back, for a part of a drill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClockStep {
    /// By how much it was ahead meanwhile, in microseconds; far longer than the drill.
    pub by_us: i64,
    /// How far off that may be, either way, in microseconds.
    #[serde(default)]
    pub error_us: u64,
}

impl ClockStep {
    /// A clock may differ by so much beside: what was written when the drill began may seem to be from before.
    const SLACK_US: i64 = 60_000_000;

    /// What a stamp of a drill that began at `begun` would be had the clock not been stepped. Both what was written while
    /// it was and what was written before and after have one answer, as long as the drill is shorter than the step.
    pub fn undone(self, stamp: Moment, begun: Moment) -> Moment {
        let edge = begun.shifted(self.by_us.max(0) - Self::SLACK_US);
        match (stamp >= edge) == (self.by_us > 0) {
            true => stamp.shifted(self.by_us.saturating_neg()),
            false => stamp,
        }
    }

    /// Whether that holds for a drill that ended then.
    pub fn outlasts(self, begun: Moment, ended: Moment) -> bool {
        let edge = self.by_us.saturating_abs() - Self::SLACK_US;
        ended < begun.shifted(edge)
    }
}

/// Seconds east of UTC of a time zone as date(1) writes it: `+0130`, `-03:30`.
pub fn utc_offset_s(text: &str) -> Option<i32> {
    let number: i32 = text.replace(':', "").parse().ok()?;
    Some((number / 100 * 60 + number % 100) * 60)
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
    /// How the clock was stepped for a part of the drill; absent: it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<ClockStep>,
    /// Lines of corosync.log.
    pub corosync: Vec<String>,
    /// Lines of pacemaker.log.
    pub pacemaker: Vec<String>,
    /// Lines of ZFS's ring of messages (`/proc/spl/kstat/zfs/dbgmsg`) that imports of pools have written: seconds since 1970
    /// by the node's clock, the thread, the message. Some may be older than the drill.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub imports: Vec<String>,
    /// Why there is nothing, or not all; absent when all is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A fencing in Pacemaker's history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FenceEvent {
    /// The node that was shot at.
    pub target: HostName,
    /// `off`, `reboot`; `on`: it was let in again.
    pub action: String,
    /// The node that did it.
    pub delegate: Option<HostName>,
    /// Whether it was said to have worked.
    pub succeeded: bool,
    /// When it was completed; Pacemaker keeps whole seconds. In a recorded drill by the drill's clock.
    pub completed: Moment,
}

impl FenceEvent {
    /// Whether it cut the node off, as far as it worked. Who lets a node in again (`on`, with fencing by reservations) shoots nobody.
    pub fn is_shot(&self) -> bool {
        self.action != "on"
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_zone_is_read_in_both_directions() {
        assert_eq!(utc_offset_s("+0000"), Some(0));
        assert_eq!(utc_offset_s("+0530"), Some(19_800));
        assert_eq!(utc_offset_s("-0330"), Some(-12_600));
        assert_eq!(utc_offset_s("+01:00"), Some(3_600));
    }

    #[test]
    fn a_stamp_tells_by_itself_whether_its_clock_was_stepped() {
        let begun = Moment(1_000_000_000_000);
        let hour = 3_600_000_000;
        for by_us in [hour, -hour] {
            let step = ClockStep { by_us, error_us: 0 };
            for true_s in [-5, 0, 30, 600] {
                let at = begun.shifted(true_s * 1_000_000);
                assert_eq!(step.undone(at, begun), at, "{by_us} {true_s}");
                assert_eq!(
                    step.undone(at.shifted(by_us), begun),
                    at,
                    "{by_us} {true_s}"
                );
            }
            assert!(step.outlasts(begun, begun.shifted(600_000_000)));
            assert!(!step.outlasts(begun, begun.shifted(hour)));
        }
    }
}
