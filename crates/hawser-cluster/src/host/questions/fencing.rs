//! Fence devices.

use std::collections::BTreeMap;
use std::time::Duration;

use hawser_host::{Answers, Ask, Declined, Size, Stop};
use serde::{Deserialize, Serialize};

use super::{Machine, USUAL};
use crate::host::{FenceQuestion, OwnedFile, fence_status, pacemaker};

/// Asks a fence agent for the status of what it fences. Answers what the agent complained of; nothing when it is well.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AskFence {
    /// The device.
    pub device: FenceQuestion,
    /// Files that the parameters name, by path; used from a private folder and then removed. None: those that are installed.
    pub files: BTreeMap<String, OwnedFile>,
    /// How long the agent may take, in seconds.
    pub seconds: u32,
}

impl Ask for AskFence {
    type Answer = Option<String>;
    const NAME: &'static str = "ask a fence agent";

    fn patience(&self) -> Duration {
        Duration::from_secs(u64::from(self.seconds) + 15)
    }
}

impl Answers<Machine> for AskFence {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<Option<String>, Declined> {
        Ok(fence_status::ask(&self.device, &self.files, self.seconds)?)
    }
}

/// What the fencer has done, as XML.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReadFenceHistory;

impl Ask for ReadFenceHistory {
    type Answer = String;
    const NAME: &'static str = "read the fencing history";
    const SIZE: Size = Size::Large;
    const PATIENCE: Duration = USUAL;
}

impl Answers<Machine> for ReadFenceHistory {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<String, Declined> {
        Ok(pacemaker::fence_history()?)
    }
}
