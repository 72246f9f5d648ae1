//! What the client saw: its history in numbers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::timeline::{Clock, Moment};
use crate::names::HostName;

/// What the client saw. All moments are by the client's clock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClientRecord {
    /// Where it ran; a host name.
    pub host: Option<HostName>,
    /// Its clock.
    pub clock: Clock,
    /// The pool it wrote to.
    pub pool: String,
    /// What it wrote over: the target's addresses, or a device.
    pub portals: Vec<String>,
    /// How heavily it wrote. Absent: it was not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<ClientLoad>,
    /// Its first record.
    pub began: Moment,
    /// The moment it stopped writing.
    pub ended: Moment,
    /// Length of a slice in microseconds.
    pub slice_us: u64,
    /// Acknowledged writes in each slice, the first of which begins with `began`.
    pub slices: Vec<u32>,
    /// Bytes of one write: of a block, also where an order wrote several.
    pub write_bytes: u32,
    /// Half of the writes took no longer, in microseconds.
    pub median_us: u64,
    /// 99 % took no longer.
    pub p99_us: u64,
    /// The longest stalls of each writer, and every one of 100 ms and more.
    pub stalls: Vec<Stall>,
    /// What happened to its paths.
    pub paths: Vec<PathEvent>,
    /// The judgement over its history.
    pub writes: WriteCounts,
    /// The first writes that break a rule.
    #[serde(default)]
    pub breaches: Vec<ClientBreach>,
    /// What the application would have been told: errors, in the client's own words.
    #[serde(default)]
    pub errors: Vec<String>,
    /// Everything that was written has been read back at the end.
    pub read_back: bool,
}

/// What each of a client's writers was to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClientLoad {
    /// How many wrote at the same time.
    pub writers: u8,
    /// Orders in flight of each.
    pub depth: u8,
    /// Orders per second of each.
    pub rate: u32,
    /// Bytes that each wrote to.
    pub region_bytes: u64,
    /// Bytes of one order to write.
    pub order_bytes: u32,
    /// So many of a hundred orders were reads.
    pub reads: u8,
    /// Whether another client, whose number follows the last writer's, created files beside the one that was written to.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub creates: bool,
}

/// A time in which a writer got no acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stall {
    /// Who waited.
    pub writer: u8,
    /// The last acknowledgement before it.
    pub from: Moment,
    /// The first one after it; when there was none, the end of the run.
    pub to: Moment,
    /// Whether it ended with an acknowledgement.
    pub over: bool,
}

/// Something that happened to a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PathEvent {
    /// When.
    pub at: Moment,
    /// Whose path.
    pub writer: u8,
    /// The address, as in `portals`.
    pub portal: String,
    /// What.
    pub what: PathChange,
}

/// What happened to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PathChange {
    /// It was given up, and with it the answers to everything under way on it.
    Lost,
    /// The address accepted a connection.
    Connected,
    /// The client is logged in.
    Up,
    /// The volume said no.
    Refused,
}

/// The judgement over the history: how many writes went which way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WriteCounts {
    /// Acknowledged.
    pub acknowledged: u64,
    /// Acknowledged and not there.
    pub lost: u64,
    /// Older than the last acknowledged one.
    pub stale: u64,
    /// Of parts of different writes, or damaged.
    pub torn: u64,
    /// Acknowledged and not read back: nobody knows.
    #[serde(default)]
    pub unread: u64,
    /// In a volatile cache that died, not flushed: allowed.
    #[serde(default)]
    pub unflushed_gone: u64,
    /// Flushes that were acknowledged.
    #[serde(default)]
    pub flushed: u64,
}

/// A block that breaks a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClientBreach {
    /// What is wrong.
    pub wrong: WrongWrite,
    /// Where, in blocks.
    pub block: u32,
    /// The number of the last acknowledged write.
    pub acknowledged: u64,
    /// The number of the write that was found.
    pub found: u64,
    /// Found by the reading back at the end rather than by a read in between.
    pub at_the_end: bool,
}

/// What is wrong with a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WrongWrite {
    /// Nothing of the run is there.
    Lost,
    /// An older write is there.
    Stale,
    /// Parts of different writes, or damaged ones.
    Torn,
    /// A write that was never sent.
    Foreign,
    /// It was not read back.
    Unread,
}
