//! A question to a host, whose answer is part of its type.

use std::fmt::Debug;
use std::time::Duration;

use hawser_model::names::HostName;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::frame::MAX_FRAME;

/// How long an answer may take that needs no measuring, on a host under load.
pub const SOON: Duration = Duration::from_secs(10);

/// Loading and verifying kernel programs takes a second or two on a busy host.
pub const SLOW: Duration = Duration::from_secs(60);

/// What a host can be asked, or told to do.
pub trait Ask: Debug + Serialize + DeserializeOwned {
    /// What it answers.
    type Answer: Serialize + DeserializeOwned;

    /// What the question is called, on the wire and in messages.
    const NAME: &'static str;

    /// How large the answer may be.
    const SIZE: Size = Size::Small;

    /// How long the answer may take, whatever is asked in particular.
    const PATIENCE: Duration = SOON;

    /// How long this answer may take.
    fn patience(&self) -> Duration {
        Self::PATIENCE
    }

    /// Whether this host may say that: no host speaks for another one.
    fn may_say(_answer: &Self::Answer, _host: &HostName) -> bool {
        true
    }
}

/// How large an answer may be. A host that is hostile or broken costs the operator's machine no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// A number, a word or an error: 256 KiB.
    Small,
    /// Whatever fits into one frame.
    Large,
    /// The same, and it becomes part of a case: all such answers of a host together have a limit too.
    Recorded,
}

impl Size {
    /// The largest answer, in bytes.
    pub fn bytes(self) -> usize {
        match self {
            Self::Small => 256 << 10,
            Self::Large | Self::Recorded => MAX_FRAME,
        }
    }
}
