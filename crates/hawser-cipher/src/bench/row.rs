//! One line of the result, as `hawser bench cipher --json` prints it.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::mode::{Direction, Mode};

/// How the bytes of a chunk lie.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Layout {
    /// One input and one output buffer.
    Contiguous,
    /// One buffer, overwritten.
    InPlace,
    /// Input and output each in pieces of 16 bytes.
    #[serde(rename = "scattered-16")]
    Scattered16,
    /// Input and output each in pieces of 64 bytes.
    #[serde(rename = "scattered-64")]
    Scattered64,
    /// Input and output each in pieces of 256 bytes.
    #[serde(rename = "scattered-256")]
    Scattered256,
    /// Input and output each in pieces of 1 KiB.
    #[serde(rename = "scattered-1024")]
    Scattered1024,
    /// Input and output each in pieces of 4 KiB.
    #[serde(rename = "scattered-4096")]
    Scattered4096,
}

impl Layout {
    /// All of them, in the order of tables.
    pub const ALL: [Self; 7] = [
        Self::Contiguous,
        Self::InPlace,
        Self::Scattered16,
        Self::Scattered64,
        Self::Scattered256,
        Self::Scattered1024,
        Self::Scattered4096,
    ];

    /// The length of a piece in bytes, where there are pieces.
    pub const fn piece(self) -> Option<usize> {
        match self {
            Self::Contiguous | Self::InPlace => None,
            Self::Scattered16 => Some(16),
            Self::Scattered64 => Some(64),
            Self::Scattered256 => Some(256),
            Self::Scattered1024 => Some(1024),
            Self::Scattered4096 => Some(4096),
        }
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.piece() {
            Some(piece) if piece >= 1024 => f.pad(&format!("{} KiB", piece / 1024)),
            Some(piece) => f.pad(&format!("{piece} B")),
            None if *self == Self::Contiguous => f.pad("contiguous"),
            None => f.pad("in place"),
        }
    }
}

/// Whom we are measured beside.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub enum Peer {
    /// OpenSSL's libcrypto.
    #[serde(rename = "openssl")]
    OpenSsl,
    /// AWS-LC without this crate's data path.
    #[serde(rename = "aws-lc")]
    AwsLc,
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::OpenSsl => "OpenSSL",
            Self::AwsLc => "AWS-LC",
        })
    }
}

/// One line of the result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Row {
    /// The mode.
    pub mode: Mode,
    /// Length of the key in bits.
    pub key_bits: u32,
    /// Encryption or decryption.
    pub op: Direction,
    /// How the bytes lie.
    pub layout: Layout,
    /// Bytes an operation: one update, or in GCM one whole message with its tag.
    pub chunk: usize,
    /// Threads that worked at the same time, each on memory of its own.
    pub threads: usize,
    /// Megabytes (10^6 bytes) a second of processor time, all threads together: the median of the
    /// rounds. On a machine that does nothing else that is a second of the wall clock.
    pub mb_per_s: f64,
    /// The same for OpenSSL, called once a piece. Absent in a build without it.
    pub openssl_mb_per_s: Option<f64>,
    /// The same for AWS-LC without this crate's data path, called once a piece. Absent in a build
    /// without it.
    pub aws_lc_mb_per_s: Option<f64>,
    /// The same for the kernel's own AES, by AF_ALG, in messages of 32 KiB at most; contiguous only. Absent where the kernel
    /// offers none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_mb_per_s: Option<f64>,
    /// Which call the kernel refused; contiguous only. Absent where it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_refused: Option<String>,
    /// The faster of the two libraries: the one beside which our `ratio` is the smaller.
    pub best: Option<Peer>,
    /// Ours over that of `best`: the median of the rounds' ratios. Absent in a build with neither.
    pub ratio: Option<f64>,
    /// Half of the distance between the quartiles of the rounds' ratios; with nobody beside us, of the
    /// rounds' speeds over their median.
    pub spread: f64,
    /// Rounds that were measured: fewer than planned where the machine was too busy for all.
    pub rounds: usize,
    /// Over our own contiguous speed in the same rounds: the median of the ratios.
    pub of_contiguous: f64,
    /// The median time of one call of 32 KiB into the implementation by the wall clock, in
    /// microseconds. On one thread, contiguous, in 32 KiB chunks only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_us: Option<f64>,
    /// The longest such call by the wall clock, with whatever interrupted it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest_call_us: Option<f64>,
    /// The longest by the thread's processor time of the least disturbed hundred in a row, of the calls
    /// during which no other program was given the processor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest_undisturbed_us: Option<f64>,
    /// How many of all timed calls there were during which another program was given the processor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disturbed_calls: Option<usize>,
}
