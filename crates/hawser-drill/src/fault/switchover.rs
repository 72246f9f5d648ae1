//! No fault but a plan: a head is put in standby, as for maintenance, and its pools go to another one.

use std::time::Duration;

use hawser_model::names::HostName;
use hawser_model::output::cluster::NodeCondition;

use super::Fault;
use crate::context::DrillContext;
use crate::error::DrillError;

/// From the end of a head's programs to its being known to be off.
const GOES_OFF: Duration = Duration::from_secs(10);

/// See the module.
pub struct Switchover {
    /// The head that gives its pools up.
    pub head: HostName,
}

impl Switchover {
    fn is_off(&self, context: &DrillContext<'_>) -> Result<bool, DrillError> {
        Ok(!context.site.has_power(&self.head)?)
    }

    /// Whether the head is a member, and in standby.
    pub(super) fn is_in_standby(&self, context: &DrillContext<'_>) -> Result<bool, DrillError> {
        let now = context.cluster.status().map_err(DrillError::CouldNot)?;
        let mut nodes = now.nodes.iter();
        Ok(nodes.any(|it| it.name == self.head && it.state == NodeCondition::Standby))
    }
}

impl Fault for Switchover {
    fn name(&self) -> &'static str {
        "switchover"
    }

    fn hosts(&self) -> Vec<HostName> {
        vec![self.head.clone()]
    }

    fn make(&self, context: &DrillContext<'_>) -> Result<(), DrillError> {
        let Err(why) = context.cluster.standby(self.head.as_str(), true) else {
            return Ok(());
        };
        // One that cannot give its pools up is fenced, and whoever waited there ends with it: a moment before it is
        // known to be off.
        match context.wait(GOES_OFF, || self.is_off(context))? {
            true => Ok(()),
            false => Err(DrillError::CouldNot(why)),
        }
    }

    fn evidence(&self, context: &DrillContext<'_>) -> Result<Option<String>, DrillError> {
        if self.is_off(context)? {
            let words = format!("{} lost its power while it gave its pools up", self.head);
            return Ok(Some(words));
        }
        let standby = self.is_in_standby(context)?;
        Ok(standby.then(|| format!("{} is in standby", self.head)))
    }

    fn heal(&self, context: &DrillContext<'_>) -> Result<(), DrillError> {
        let done = context.cluster.standby(self.head.as_str(), false);
        done.map_err(DrillError::CouldNot)
    }
}
