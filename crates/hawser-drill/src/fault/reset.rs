//! A head's reset button: its power is gone for a moment, and it boots.

use hawser_cluster::host::questions::LookAround;
use hawser_model::names::HostName;

use super::Fault;
use crate::context::{DrillContext, REACHED};
use crate::error::DrillError;

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

    fn make(&self, context: &DrillContext<'_>) -> Result<(), DrillError> {
        Ok(context.site.power_off(&self.head)?)
    }

    fn follow(&self, context: &DrillContext<'_>) -> Result<(), DrillError> {
        Ok(context.site.power_on(&self.head)?)
    }

    fn evidence(&self, context: &DrillContext<'_>) -> Result<Option<String>, DrillError> {
        let look = context.hosts.ask(&self.head, &LookAround { engine: true });
        let boots = !look.is_ok_and(|look| look.engine_us.is_some());
        Ok(boots.then(|| format!("{} boots: its Pacemaker does not run", self.head)))
    }

    fn heal(&self, context: &DrillContext<'_>) -> Result<(), DrillError> {
        context.until_done(REACHED, || context.site.power_on(&self.head))
    }
}
