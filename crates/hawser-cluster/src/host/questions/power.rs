//! Switching power by a fence agent.

use std::time::Duration;

use hawser_host::{Answers, Ask, Declined, Size, Stop};
use serde::{Deserialize, Serialize};

use super::{Machine, USUAL};
use crate::host::{FenceQuestion, fence_status};

/// What a fence agent says of itself: its metadata, XML.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReadFenceMetadata {
    /// Which agent.
    pub agent: String,
}

impl Ask for ReadFenceMetadata {
    type Answer = String;
    const NAME: &'static str = "read a fence agent's metadata";
    const SIZE: Size = Size::Large;
    const PATIENCE: Duration = USUAL;
}

impl Answers<Machine> for ReadFenceMetadata {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<String, Declined> {
        Ok(fence_status::metadata(&self.agent)?)
    }
}

/// Has a fence agent ask for, or switch, the power of what it fences. Answers whether there is power.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Power {
    /// The device, with the files that are installed.
    pub device: FenceQuestion,
    /// What is wanted; absent: only to know.
    pub on: Option<bool>,
    /// How long the agent may take, in seconds.
    pub seconds: u32,
}

impl Ask for Power {
    type Answer = bool;
    const NAME: &'static str = "ask for power";

    fn patience(&self) -> Duration {
        Duration::from_secs(u64::from(self.seconds) + 5)
    }
}

impl Answers<Machine> for Power {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<bool, Declined> {
        Ok(fence_status::power(&self.device, self.on, self.seconds)?)
    }
}
