//! What `hawser drill --json` prints of a drill.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::incident::is_zero;
use crate::finding::WordedFinding;
use crate::names::HostName;

/// One drill: whether its promises held, and the account of the client's outage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DrillReport {
    /// The scenario's name.
    pub scenario: String,
    /// No promise broke.
    pub passed: bool,
    /// Codes of the promises that broke; `promises` has the words.
    pub broken: Vec<String>,
    /// The longest time in which a writer got no acknowledgement, in seconds.
    pub outage_s: f64,
    /// Whether it ended before the client did.
    pub outage_over: bool,
    /// If the client that creates files waited longest (`--create`): the longest time meanwhile in which a writer, which has its file
    /// open, got no acknowledgement, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_open_s: Option<f64>,
    /// What it was made of, in the order of time. They do not overlap; with `unattributed_s` they
    /// add up to `outage_s`.
    pub phases: Vec<OutagePhase>,
    /// What nothing marks, in seconds.
    pub unattributed_s: f64,
    /// How far any boundary may be off because of the nodes' clocks, either way, in seconds.
    pub clock_error_s: f64,
    /// What became of the client's writes.
    pub writes: DrillWrites,
    /// Two heads had a pool at the same time.
    pub two_active: bool,
    /// Nodes that were fenced, in order, each once.
    pub fenced: Vec<HostName>,
    /// What every random choice of the drill came from.
    pub seed: u64,
    /// Every promise that was judged.
    pub promises: Vec<PromiseReport>,
    /// What happened, for the picture: seconds from the beginning of the outage, which may be
    /// negative.
    pub events: Vec<OutageEvent>,
    /// The findings, worst first.
    pub findings: Vec<WordedFinding>,
    /// Path of the case file.
    pub case: String,
}

/// A part of an outage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OutagePhase {
    /// What was waited for: `token loss`, `consensus`, `decision`, `fence delay`, `fence agent`,
    /// `pool`, `exports`, `addresses`, `client reconnect`, …
    pub name: String,
    /// Seconds from the beginning of the outage.
    pub start_s: f64,
    /// Its length in seconds.
    pub seconds: f64,
    /// Where.
    pub host: HostName,
}

/// What became of the client's writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DrillWrites {
    /// Acknowledged.
    pub acknowledged: u64,
    /// Acknowledged and not there.
    pub lost: u64,
    /// Older than the last acknowledged one.
    pub stale: u64,
    /// Of parts of different writes, or damaged.
    pub torn: u64,
    /// Acknowledged, not flushed, and gone with a head's write cache: no promise is broken by them, and a client that lives on has
    /// lost them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub gone_with_cache: u64,
}

/// A promise and whether it held.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PromiseReport {
    /// Its code.
    pub promise: String,
    /// Whether it held.
    pub held: bool,
    /// What was promised and what was, in words.
    pub text: String,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OutageEvent {
    /// Seconds from the beginning of the outage.
    pub at_s: f64,
    /// What.
    pub what: String,
    /// Where.
    pub host: HostName,
}
