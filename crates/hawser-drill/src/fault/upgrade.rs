//! No fault but a plan: a head is put in standby, its cluster is stopped, packages are brought to another version, and it comes
//! back. A head that is not whole again leaves the others as they are.

use std::time::Duration;

use hawser_model::names::HostName;

use super::host::{HostFault, OnHead};
use super::{Fault, Switchover};
use crate::context::{DrillContext, REACHED};
use crate::error::DrillError;
use crate::whole::wait_whole;

/// See the module.
pub struct Upgrade {
    packages: OnHead,
    standby: Switchover,
}

impl Upgrade {
    /// Of these packages of this head.
    pub fn of(head: &HostName, packages: &[String]) -> Self {
        Self {
            packages: OnHead {
                name: "upgrade",
                head: head.clone(),
                object: packages.join(" "),
                fault: HostFault::OtherPackages {
                    packages: packages.to_owned(),
                },
            },
            standby: Switchover { head: head.clone() },
        }
    }
}

impl Fault for Upgrade {
    fn name(&self) -> &'static str {
        self.packages.name()
    }

    fn hosts(&self) -> Vec<HostName> {
        self.packages.hosts()
    }

    fn object(&self) -> Option<String> {
        self.packages.object()
    }

    fn unfit(&self, context: &DrillContext<'_>) -> Result<Option<String>, DrillError> {
        self.packages.unfit(context)
    }

    fn make(&self, context: &DrillContext<'_>) -> Result<(), DrillError> {
        // The one before it must be able to bear what comes.
        let wrong = wait_whole(context, Duration::ZERO)?.wrong();
        if !wrong.is_empty() {
            return Err(DrillError::CouldNot(format!(
                "{} was left as it is: {}",
                self.standby.head,
                wrong.join("; ")
            )));
        }
        self.standby.make(context)?;
        self.packages.make(context)?;
        // Still in standby. While it joins, nobody need be able to say.
        let has_joined = || Ok(self.standby.is_in_standby(context).unwrap_or(false));
        let patience = context.patience(REACHED);
        if !context.wait(patience, has_joined)? {
            return Err(DrillError::CouldNot(format!(
                "{} has not joined again after {} s",
                self.standby.head,
                patience.as_secs()
            )));
        }
        self.standby.heal(context)
    }

    fn evidence(&self, context: &DrillContext<'_>) -> Result<Option<String>, DrillError> {
        self.packages.evidence(context)
    }

    fn heal(&self, context: &DrillContext<'_>) -> Result<(), DrillError> {
        self.packages.heal(context)?;
        self.standby.heal(context)
    }
}
