//! What the verbs print with `--json`: the contract that scripts rely on.

pub mod clients;
pub mod cluster;
pub mod compare;
pub mod copy;
pub mod drill;
pub mod exports;
pub mod fanout;
pub mod incident;
pub mod link_outage;
pub mod live;
pub mod paste;
pub mod top;
pub mod tune;
pub mod watch;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::account::PacketsAccount;
use crate::case::Absent;
use crate::finding::WordedFinding;
use crate::names::LinkName;
use crate::units::Bytes;

/// What `hawser check --json` and `hawser explain --json` print.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckReport {
    /// Hosts that did not answer: nothing to or from them was measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<Absent>,
    /// The packets account.
    pub packets: PacketsAccount,
    /// The block that was named with `--block`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<BlockReport>,
    /// The findings, worst first.
    pub findings: Vec<WordedFinding>,
    /// Path of the case file.
    pub case: String,
}

/// A block, and in how many frames it goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlockReport {
    /// Its size.
    pub bytes: Bytes,
    /// In how many frames it goes over each link, on the smallest path of it: as one datagram, or as few as take it.
    pub frames: BTreeMap<LinkName, u64>,
}

/// What `hawser ladder --json` prints, and `hawser explain --json` of a ladder's case. MB are
/// 10^6 bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LadderReport {
    /// What each part of the path can do by itself, fastest first.
    pub rungs: Vec<RungReport>,
    /// What the whole path did; zero when nothing arrived.
    pub whole_mb_per_s: f64,
    /// What is lost from rung to rung, from the best one down to the whole path.
    pub steps: Vec<Step>,
    /// What of the way down no step explains.
    pub unexplained_mb_per_s: f64,
    /// The part of the path that was busy longest: a rung's name, or the processors of a host.
    pub bottleneck: String,
    /// The findings, worst first.
    pub findings: Vec<WordedFinding>,
    /// Path of the case file.
    pub case: String,
}

/// A rung as it is reported.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RungReport {
    /// What was measured, and on which host.
    pub name: String,
    /// Its rate once it was steady.
    pub mb_per_s: f64,
    /// Half the distance between the quartiles of its slices, as a share of their median.
    pub spread: f64,
    /// Segments that its TCP streams sent again, and how many they sent in all; absent where it has no stream over
    /// the link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_again: Option<SentAgain>,
}

impl RungReport {
    /// A spread above it says that slices have no rate in common: half of them lie further from the median than the
    /// median itself is large.
    pub const MEASURABLE: f64 = 1.0;

    /// Whether the rate means anything.
    pub fn measurable(&self) -> bool {
        self.spread <= Self::MEASURABLE
    }
}

/// What TCP sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SentAgain {
    /// Segments with data, those sent again included.
    pub segments: u64,
    /// Of them, those that were sent again.
    pub retransmits: u64,
    /// Of the retransmits, those that the receiver had already.
    pub needless: u64,
}

/// A step down the ladder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// The upper rung's name.
    pub from: String,
    /// The lower one's; the last is `whole path`.
    pub to: String,
    /// What is lost between them.
    pub mb_per_s: f64,
    /// What takes it.
    pub why: String,
}
