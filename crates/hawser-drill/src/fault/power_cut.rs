//! The power cord of a head is pulled: its links are silent, its memory is gone, its disks stop where they
//! are. The cluster learns of it by silence, and must ask the BMC before it takes anything over.

use hawser_model::names::HostName;

use super::Fault;
use crate::context::{DrillContext, REACHED};
use crate::error::DrillError;

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

    fn make(&self, context: &DrillContext<'_>) -> Result<(), DrillError> {
        Ok(context.site.power_off(&self.head)?)
    }

    fn evidence(&self, context: &DrillContext<'_>) -> Result<Option<String>, DrillError> {
        Ok(context.site.shows_off(&self.head)?)
    }

    fn heal(&self, context: &DrillContext<'_>) -> Result<(), DrillError> {
        context.until_done(REACHED, || context.site.power_on(&self.head))
    }
}
