//! The whole path in stages, a thread each: read, encrypt, send │ receive, decrypt, write.
//!
//! ```text
//! read ─► encrypt ─► send ─── TCP ─── receive ─► decrypt ─► write
//!   ▲                  │                 ▲                    │
//!   └── empty blocks ──┘                 └─── empty blocks ───┘
//! ```
//!
//! Blocks go round: a stage that is slower than its neighbours has full queues before it and
//! empty ones behind it. Each stage tells its time at work from its time waiting.

mod block;
mod receiver;
mod sender;
mod stage;

pub use receiver::WholeReceiver;
pub use sender::{WholeSent, send};

use std::net::IpAddr;

use hawser_model::ladder::{CipherChoice, Sample, Stage, Storage};
use hawser_model::units::Nanos;
use serde::{Deserialize, Serialize};

/// A whole path as it is asked for, the same for both ends.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WholeSpec {
    /// The sender's address.
    pub source_address: IpAddr,
    /// The receiver's address.
    pub destination_address: IpAddr,
    /// What is read.
    pub source: Storage,
    /// What is written.
    pub sink: Storage,
    /// What it is encrypted with.
    pub cipher: Option<CipherChoice>,
    /// The key, of which the cipher takes as much as it needs. Fresh for each run.
    pub key: [u8; 32],
    /// How long to read.
    pub duration: Nanos,
}

impl std::fmt::Debug for WholeSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WholeSpec")
            .field("source", &self.source)
            .field("sink", &self.sink)
            .field("cipher", &self.cipher)
            .field("duration", &self.duration)
            .finish_non_exhaustive()
    }
}

/// What the receiving end measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WholeReceived {
    /// What was written in each slice of time.
    pub samples: Vec<Sample>,
    /// Its stages.
    pub stages: Vec<Stage>,
}
