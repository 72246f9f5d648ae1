//! What Pacemaker would do, and whether it has done it.

use std::time::Duration;

use hawser_host::{Answers, Ask, Declined, Size, Stop};
use serde::{Deserialize, Serialize};

use super::{Machine, USUAL};
use crate::host::pacemaker;
use crate::simulate::{Answer as Simulated, CrmSimulate, Event, Simulator};

/// What Pacemaker would do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Simulate {
    /// About this cluster.
    pub cib: String,
    /// When this happens.
    pub events: Vec<Event>,
}

impl Ask for Simulate {
    type Answer = Simulated;
    const NAME: &'static str = "simulate";
    const SIZE: Size = Size::Large;
    const PATIENCE: Duration = USUAL;
}

impl Answers<Machine> for Simulate {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<Simulated, Declined> {
        Ok(CrmSimulate.simulate(&self.cib, &self.events)?)
    }
}

/// Waits until Pacemaker has nothing left to do. Answers whether that is so; else time was over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settle {
    /// At most so long, in seconds.
    pub seconds: u32,
}

impl Ask for Settle {
    type Answer = bool;
    const NAME: &'static str = "wait until Pacemaker is done";

    fn patience(&self) -> Duration {
        Duration::from_secs(u64::from(self.seconds) + 15)
    }
}

impl Answers<Machine> for Settle {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<bool, Declined> {
        Ok(pacemaker::settle(self.seconds)?)
    }
}
