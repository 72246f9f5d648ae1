//! The modes of operation, and the two directions.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A mode of operation (NIST SP 800-38A and 800-38D).
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Each block by itself. **Not secure**: equal blocks of text give equal blocks of ciphertext.
    /// It is here as the measure of what the processor can do.
    Ecb,
    /// Each block chained to the one before. Encryption cannot use the processor's parallelism.
    Cbc,
    /// A stream of encrypted counters. Not authenticated.
    Ctr,
    /// Counters with an authentication tag.
    Gcm,
}

impl Mode {
    /// All modes, in the order of tables.
    pub const ALL: [Self; 4] = [Self::Ecb, Self::Cbc, Self::Ctr, Self::Gcm];

    /// Its name as in the standards.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ecb => "ECB",
            Self::Cbc => "CBC",
            Self::Ctr => "CTR",
            Self::Gcm => "GCM",
        }
    }

    /// The granule of its messages in bytes: whole blocks, or any length.
    pub(crate) const fn granule(self) -> usize {
        match self {
            Self::Ecb | Self::Cbc => crate::BLOCK,
            Self::Ctr | Self::Gcm => 1,
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// To ciphertext or to plaintext.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// To ciphertext.
    Encrypt,
    /// To plaintext.
    Decrypt,
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Encrypt => "encrypt",
            Self::Decrypt => "decrypt",
        })
    }
}
