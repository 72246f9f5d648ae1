//! The unit of the watch.

use std::time::Duration;

use hawser_host::{Answers, Ask, Declined, Stop};
use serde::{Deserialize, Serialize};

use super::{Machine, SERVICES};
use crate::host::{Content, watch_unit};

/// The watch runs, at each boot too, and judges by this cluster file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InstallWatch {
    /// The cluster file.
    pub file: Content,
}

impl Ask for InstallWatch {
    type Answer = ();
    const NAME: &'static str = "install the watch";
    const PATIENCE: Duration = SERVICES;
}

impl Answers<Machine> for InstallWatch {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<(), Declined> {
        Ok(watch_unit::install(self.file)?)
    }
}

/// The watch that an apply installed ends and is gone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WithdrawWatch;

impl Ask for WithdrawWatch {
    type Answer = ();
    const NAME: &'static str = "remove the watch";
    const PATIENCE: Duration = SERVICES;
}

impl Answers<Machine> for WithdrawWatch {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<(), Declined> {
        Ok(watch_unit::withdraw()?)
    }
}
