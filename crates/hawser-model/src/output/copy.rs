//! What `hawser copy --json` prints.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::copy::{CopyCipher, SourceState, Stage};
use crate::finding::WordedFinding;
use crate::names::{HostName, LinkName};
use crate::units::{Bytes, decimal, mb_per_s};

/// One copy and what was found about it. MB are 1 000 000 bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CopyReport {
    /// The sending host.
    pub from: HostName,
    /// The receiving host.
    pub to: HostName,
    /// The link the data took.
    pub link: LinkName,
    /// What was copied: a path, or `memory`.
    pub source: String,
    /// Where to: a path, or `nowhere`.
    pub destination: String,
    /// Length of the source.
    pub bytes: u64,
    /// Data that went over the wire.
    pub moved_bytes: u64,
    /// Data that an earlier run had left.
    pub kept_bytes: u64,
    /// Holes, which cost nothing.
    pub hole_bytes: u64,
    /// From the first byte to the end, `fsync` included.
    pub seconds: f64,
    /// Data moved in the time until the last of it was written, `fsync` not included.
    pub mb_per_s: f64,
    /// TCP connections.
    pub streams: u32,
    /// The cipher; absent for none.
    pub cipher: Option<CopyCipher>,
    /// XXH3-128 over the XXH3-128 of the blocks, equal at both ends.
    pub checksum: Option<String>,
    /// What is known of the source at the end. Only with `unchanged` are source and destination the
    /// same.
    #[serde(default)]
    pub source_state: SourceState,
    /// The data did not pass through the programs.
    pub zero_copy: bool,
    /// The stages, in the order of the data.
    pub stages: Vec<StageShare>,
    /// The rate over time.
    pub rate: Vec<RatePoint>,
    /// Where the rate fell for good, if it did.
    pub change: Option<ChangePoint>,
    /// The findings, worst first.
    pub findings: Vec<WordedFinding>,
    /// Why it failed; absent when it did not.
    pub error: Option<String>,
    /// The file beside the destination in which a failed copy left what had come; absent when it left none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// Path of the case file.
    pub case: String,
}

impl CopyReport {
    /// How much in how long, and the rate that follows: `600.0 MiB (629 MB) in 3.10 s, 203 MB/s`; where the end of the
    /// time was spent on the `fsync`, the rate before it too.
    pub fn speed(&self) -> String {
        let mb = self.moved_bytes as f64 / 1e6;
        let overall = match self.seconds > 0.0 {
            true => mb / self.seconds,
            false => 0.0,
        };
        let while_moving = match self.mb_per_s > overall * 1.02 {
            true => format!(" ({} until the last byte came)", mb_per_s(self.mb_per_s)),
            false => String::new(),
        };
        format!(
            "{} ({}) in {:.2} s, {}{while_moving}",
            Bytes(self.moved_bytes),
            decimal(self.moved_bytes),
            self.seconds,
            mb_per_s(overall)
        )
    }

    /// What was proven of the data; nothing without a checksum.
    pub fn proven(&self) -> Option<String> {
        let checksum = self.checksum.as_ref()?;
        Some(match self.source_state {
            SourceState::Unchanged => format!("the same at both ends: xxh3-128 {checksum}"),
            SourceState::Unknown => format!(
                "what was read is what was written: xxh3-128 {checksum}; whether the source was \
                 changed meanwhile is not known"
            ),
            SourceState::Changed => format!(
                "what was read is what was written: xxh3-128 {checksum}; the source was changed \
                 meanwhile, so this may be a mixture of old and new"
            ),
        })
    }
}

/// A stage of a copy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StageShare {
    /// The stage.
    pub stage: Stage,
    /// Seconds it worked, all streams together.
    pub busy_s: f64,
    /// Of the time the streams ran, the share it worked, in per cent.
    pub busy_percent: f64,
    /// Seconds it waited for the other end (`send`, `receive`).
    pub waiting_s: f64,
    /// What it could do alone: its bytes over its working time, all streams together.
    pub mb_per_s: Option<f64>,
}

/// How fast it was when.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RatePoint {
    /// End of the interval, seconds from the start.
    pub at_s: f64,
    /// Bytes until then.
    pub bytes: u64,
    /// The rate in the interval.
    pub mb_per_s: f64,
}

/// A point after which a copy was slower for good.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChangePoint {
    /// Seconds from the start.
    pub at_s: f64,
    /// Bytes until then.
    pub at_bytes: u64,
    /// The rate before.
    pub before_mb_per_s: f64,
    /// The rate after.
    pub after_mb_per_s: f64,
    /// What had been sent beyond the later rate: the depth of a token bucket, if it is one.
    pub ahead_bytes: u64,
    /// The largest standardised difference of mean log rates over all places to cut.
    pub statistic: f64,
    /// What noise alone stays below.
    pub threshold: f64,
}
