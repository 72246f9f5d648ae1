//! A head's reset button: its power is gone for a moment, and it boots.

use hawser_lab::{PowerLoss, power_loss};
use hawser_model::names::HostName;

use super::Fault;
use crate::error::DrillError;
use crate::processes::named;
use crate::stage::Stage;

/// See the module.
pub struct Reset {
    /// The head.
    pub head: HostName,
}

impl Fault for Reset {
    fn name(&self) -> &'static str {
        "reset"
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
            Some(real) => {
                real.power(&self.head, Some(false))?;
            }
        }
        stage.power_on(&self.head)
    }

    fn evidence(&self, stage: &Stage<'_>) -> Result<Option<String>, DrillError> {
        if let Some(real) = stage.real() {
            let boots = !real
                .look(&self.head, true)
                .is_ok_and(|look| look.engine_us.is_some());
            return Ok(boots.then(|| format!("{} boots: its Pacemaker does not run", self.head)));
        }
        // A head of a lab takes as long as a fast server to boot.
        let none = named(stage, self.head.as_str(), "corosync")?.is_empty();
        Ok(none.then(|| format!("{} boots: its Corosync does not run", self.head)))
    }

    fn heal(&self, stage: &Stage<'_>) -> Result<(), DrillError> {
        stage.power_on(&self.head)
    }
}
