//! A fault that a head makes on itself.

use std::time::Duration;

use hawser_host::{Answers, Ask, Declined, Stop};
use serde::{Deserialize, Serialize};

use super::{Machine, USUAL};
use crate::host::drill::{HostFault, dead_man};

/// The head breaks something of its own, and mends it after so many seconds if nobody has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MakeFault {
    /// Which.
    pub fault: HostFault,
    /// At most so long, and the time that it takes to make.
    pub seconds: u32,
}

impl Ask for MakeFault {
    type Answer = ();
    const NAME: &'static str = "make a fault";

    fn patience(&self) -> Duration {
        self.fault.takes().unwrap_or(USUAL)
    }
}

impl Answers<Machine> for MakeFault {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<(), Declined> {
        // What takes long to make is not mended while it is made.
        let takes = self.fault.takes().map_or(0, |takes| takes.as_secs());
        let seconds = u32::try_from(takes).unwrap_or(u32::MAX);
        dead_man::stand(&self.fault, self.seconds.saturating_add(seconds))?;
        if let Err(e) = self.fault.make() {
            // Part of it may be there.
            dead_man::dismiss(&self.fault)?;
            return Err(e.into());
        }
        Ok(())
    }
}
