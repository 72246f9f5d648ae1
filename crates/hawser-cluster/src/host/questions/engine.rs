//! Corosync, Pacemaker and the quorum device.

use std::time::Duration;

use hawser_host::{Answers, Ask, Declined, Stop};
use serde::{Deserialize, Serialize};

use super::{Machine, USUAL};
use crate::host::{DeviceWish, device, engine, reload};

/// A stop waits for every pool of the node: as long as systemd waits (pacemaker.service has
/// `TimeoutStopSec=30min`).
const STOP: Duration = Duration::from_secs(1830);

/// systemd has limits of its own (a minute for Pacemaker, 90 s for Corosync and for what they need),
/// and says better than we what did not start; enabling a service that also has an init
/// script has it read all its files several times.
const SERVICES: Duration = Duration::from_secs(300);

/// Starts Corosync and Pacemaker, now and at each boot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StartEngine;

impl Ask for StartEngine {
    type Answer = ();
    const NAME: &'static str = "start the cluster";

    fn patience(&self) -> Duration {
        SERVICES
    }
}

impl Answers<Machine> for StartEngine {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<(), Declined> {
        Ok(engine::start()?)
    }
}

/// Stops them, Pacemaker and what it runs first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StopEngine;

impl Ask for StopEngine {
    type Answer = ();
    const NAME: &'static str = "stop the cluster";

    fn patience(&self) -> Duration {
        STOP
    }
}

impl Answers<Machine> for StopEngine {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<(), Declined> {
        Ok(engine::stop()?)
    }
}

/// Takes back what [`StartEngine`] did: they are stopped, and do not start at boot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WithdrawEngine;

impl Ask for WithdrawEngine {
    type Answer = ();
    const NAME: &'static str = "take the start of the cluster back";

    fn patience(&self) -> Duration {
        STOP
    }
}

impl Answers<Machine> for WithdrawEngine {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<(), Declined> {
        Ok(engine::withdraw()?)
    }
}

/// The cluster's Corosync reads its configuration again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReloadCorosync;

impl Ask for ReloadCorosync {
    type Answer = ();
    const NAME: &'static str = "reload Corosync";

    fn patience(&self) -> Duration {
        USUAL
    }
}

impl Answers<Machine> for ReloadCorosync {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<(), Declined> {
        Ok(reload::reload()?)
    }
}

/// Starts or stops corosync-qdevice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SetDevice {
    /// What it is told.
    pub wish: DeviceWish,
}

impl Ask for SetDevice {
    type Answer = ();
    const NAME: &'static str = "start or stop corosync-qdevice";

    fn patience(&self) -> Duration {
        SERVICES
    }
}

impl Answers<Machine> for SetDevice {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<(), Declined> {
        Ok(engine::device(self.wish)?)
    }
}

/// Why the quorum device has no vote on this node; nothing when it votes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AskDeviceVote;

impl Ask for AskDeviceVote {
    type Answer = Option<String>;
    const NAME: &'static str = "ask for the quorum device's vote";

    fn patience(&self) -> Duration {
        USUAL
    }
}

impl Answers<Machine> for AskDeviceVote {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<Option<String>, Declined> {
        Ok(device::silent()?)
    }
}
