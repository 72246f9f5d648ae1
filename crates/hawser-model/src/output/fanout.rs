//! What `hawser check --multicast-fanout --json` prints.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::fanout::{GroupsMeasured, Spread};
use crate::finding::WordedFinding;
use crate::names::HostName;
use crate::units::{Packets, PacketsPerSec};

/// How many receivers each host serves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FanoutReport {
    /// UDP payload, bytes.
    pub payload_bytes: u32,
    /// The most receivers that would be tried.
    pub tried_up_to: u32,
    /// Receivers counted in the kernel and read nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub count_only: bool,
    /// A line a host, rate and way of spreading the work.
    pub series: Vec<FanoutResult>,
    /// How many groups each host takes, when that was measured instead.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub groups: BTreeMap<HostName, GroupsMeasured>,
    /// The findings, worst first.
    pub findings: Vec<WordedFinding>,
    /// Path of the case file.
    pub case: String,
}

/// What one search came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FanoutResult {
    /// The host.
    pub host: HostName,
    /// Packets a second.
    pub rate: PacketsPerSec,
    /// Where the copies were worked off.
    pub spread: Spread,
    /// The most receivers with less than 0.01 % lost while the sender held its rate; zero when one was too
    /// many, absent when the search did not come to its end.
    pub most_receivers: Option<u32>,
    /// Why one more was too many; absent when as many as asked for were served.
    pub limit: Option<FanoutLimit>,
    /// As a multiple of what the default serves; absent when that is not known.
    pub times_default: Option<f64>,
    /// As a multiple of what one context serves.
    pub times_one_context: Option<f64>,
    /// Each number of receivers that was measured, fewest first.
    pub points: Vec<FanoutPoint>,
    /// Why the search did not come to its end.
    pub problem: Option<String>,
}

/// A number of receivers, all its windows together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FanoutPoint {
    /// How many received.
    pub receivers: u32,
    /// Windows that were measured.
    pub windows: u32,
    /// Of them, those that stand: less than 0.01 % lost, the rate held.
    pub stood: u32,
    /// Median of the windows' loss, percent.
    pub loss_percent: f64,
    /// Median of the rates that the sender reached, as a share of what was asked.
    pub rate_share: f64,
}

/// What was exhausted in the first window with too many receivers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FanoutLimit {
    /// So many were too many.
    pub receivers: u32,
    /// The processor that spent most time in soft interrupts.
    pub processor: u32,
    /// Share of its time in them.
    pub softirq_share: f64,
    /// Share of its time in anything.
    pub busy_share: f64,
    /// Share of the other processors' time with nothing to do; absent when there is no other.
    pub others_idle_share: Option<f64>,
    /// Share of all processors' time that a hypervisor gave to others (`steal` of `/proc/stat`).
    #[serde(default)]
    pub stolen_share: f64,
    /// Packets dropped because a processor's backlog was full (`softnet dropped`).
    pub backlog_drops: Packets,
    /// Packets dropped at the receivers' sockets: their programs did not get to read.
    pub socket_drops: Packets,
    /// Packets lost elsewhere.
    pub other_drops: Packets,
    /// The sender did not reach its rate.
    pub sender_slowed: bool,
}
