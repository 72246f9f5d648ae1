//! The quorum device.

use std::time::Duration;

use hawser_host::{Answers, Ask, Declined, Stop};
use serde::{Deserialize, Serialize};

use super::{Machine, SERVICES, USUAL};
use crate::host::view::Limits;
use crate::host::{DeviceAction, device, engine};

/// Starts or stops corosync-qdevice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SetDevice {
    /// What it is told.
    pub action: DeviceAction,
}

impl Ask for SetDevice {
    type Answer = ();
    const NAME: &'static str = "start or stop corosync-qdevice";
    const PATIENCE: Duration = SERVICES;
}

impl Answers<Machine> for SetDevice {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<(), Declined> {
        Ok(engine::device(self.action)?)
    }
}

/// Why the quorum device has no vote on this node; nothing when it votes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AskDeviceVote;

impl Ask for AskDeviceVote {
    type Answer = Option<String>;
    const NAME: &'static str = "ask for the quorum device's vote";
    const PATIENCE: Duration = USUAL;
}

impl Answers<Machine> for AskDeviceVote {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<Option<String>, Declined> {
        Ok(device::silent(Limits::PATIENT.head)?)
    }
}
