//! Corosync and Pacemaker.

use std::time::Duration;

use hawser_host::{Answers, Ask, Declined, Stop};
use serde::{Deserialize, Serialize};

use super::{Machine, SERVICES};
use crate::host::engine;

/// A stop waits for every pool of the node: as long as systemd waits (pacemaker.service has
/// `TimeoutStopSec=30min`).
pub(super) const STOP: Duration = Duration::from_secs(1830);

/// Starts Corosync and Pacemaker, now and at each boot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StartEngine;

impl Ask for StartEngine {
    type Answer = ();
    const NAME: &'static str = "start the cluster";
    const PATIENCE: Duration = SERVICES;
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
    const PATIENCE: Duration = STOP;
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
    const PATIENCE: Duration = STOP;
}

impl Answers<Machine> for WithdrawEngine {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<(), Declined> {
        Ok(engine::withdraw()?)
    }
}
