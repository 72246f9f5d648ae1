//! The power cord of a head is pulled: its links are silent, its memory is gone, its disks stop where they
//! are. The cluster learns of it by silence, and must ask the BMC before it takes anything over.

use hawser_lab::{PowerLoss, power_loss};
use hawser_model::names::HostName;

use super::Fault;
use crate::error::DrillError;
use crate::stage::Stage;

/// See the module.
pub struct PowerCut {
    /// The head.
    pub head: HostName,
}

impl Fault for PowerCut {
    fn name(&self) -> &'static str {
        "power-cut"
    }

    fn hosts(&self) -> Vec<HostName> {
        vec![self.head.clone()]
    }

    fn is_power_loss(&self) -> bool {
        true
    }

    fn make(&self, stage: &Stage<'_>) -> Result<(), DrillError> {
        match stage.real() {
            None => {
                power_loss(stage.lab_name()?, self.head.as_str(), PowerLoss::Cut)?;
            }
            // As if somebody pressed the button: by its fence device, and the cluster asks the same one afterwards.
            Some(real) => {
                real.power(&self.head, Some(false))?;
            }
        }
        Ok(())
    }

    fn evidence(&self, stage: &Stage<'_>) -> Result<Option<String>, DrillError> {
        let Some(real) = stage.real() else {
            let off = !stage.is_on(&self.head)?;
            return Ok(off.then(|| format!("no process of {} runs any more", self.head)));
        };
        let off = !real.power(&self.head, None)?;
        Ok(off.then(|| {
            format!(
                "{} says that {} is off",
                real.switched_by(&self.head),
                self.head
            )
        }))
    }

    fn heal(&self, stage: &Stage<'_>) -> Result<(), DrillError> {
        stage.power_on(&self.head)
    }
}
