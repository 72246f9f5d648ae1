//! Faults that a head makes on itself.

use std::time::Duration;

use hawser_host::{Answers, Ask, Declined, Stop};
use serde::{Deserialize, Serialize};

use super::{Machine, USUAL};
use crate::host::drill::{HostFault, dead_man};

/// Why the head cannot break that; nothing if it can.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FitsFault(pub HostFault);

impl Ask for FitsFault {
    type Answer = Option<String>;
    const NAME: &'static str = "fit for a fault";
    const PATIENCE: Duration = USUAL;
}

impl Answers<Machine> for FitsFault {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<Option<String>, Declined> {
        Ok(self.0.unfit()?)
    }
}

/// What shows that a fault is there now; nothing when it is not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShowFault(pub HostFault);

impl Ask for ShowFault {
    type Answer = Option<String>;
    const NAME: &'static str = "look for a fault";
    const PATIENCE: Duration = USUAL;
}

impl Answers<Machine> for ShowFault {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<Option<String>, Declined> {
        Ok(self.0.shown()?)
    }
}

/// Mends a fault, also when it is not there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MendFault(pub HostFault);

impl Ask for MendFault {
    type Answer = ();
    const NAME: &'static str = "mend a fault";

    fn patience(&self) -> Duration {
        self.0.mends()
    }
}

impl Answers<Machine> for MendFault {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<(), Declined> {
        Ok(dead_man::dismiss(&self.0)?)
    }
}
