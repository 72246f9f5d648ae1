//! No fault but a plan: a head is put in standby, its cluster is stopped, packages are brought to another version, and it comes
//! back. A head that is not whole again leaves the others as they are.

use std::time::Duration;

use hawser_model::names::HostName;

use super::host::{HostFault, OnHead};
use super::{Fault, Switchover};
use crate::error::DrillError;
use crate::stage::{REACHED, Stage};
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

    fn unfit(&self, stage: &Stage<'_>) -> Result<Option<String>, DrillError> {
        self.packages.unfit(stage)
    }

    fn make(&self, stage: &Stage<'_>) -> Result<(), DrillError> {
        // The one before it must be able to bear what comes.
        let wrong = wait_whole(stage, Duration::ZERO)?.wrong();
        if !wrong.is_empty() {
            return Err(DrillError::CouldNot(format!(
                "{} was left as it is: {}",
                self.standby.head,
                wrong.join("; ")
            )));
        }
        self.standby.make(stage)?;
        self.packages.make(stage)?;
        // Still in standby. While it joins, nobody need be able to say.
        let has_joined = || Ok(self.standby.is_in_standby(stage).unwrap_or(false));
        let patience = stage.patience(REACHED);
        if !stage.wait(patience, has_joined)? {
            return Err(DrillError::CouldNot(format!(
                "{} has not joined again after {} s",
                self.standby.head,
                patience.as_secs()
            )));
        }
        self.standby.heal(stage)
    }

    fn evidence(&self, stage: &Stage<'_>) -> Result<Option<String>, DrillError> {
        self.packages.evidence(stage)
    }

    fn heal(&self, stage: &Stage<'_>) -> Result<(), DrillError> {
        self.packages.heal(stage)?;
        self.standby.heal(stage)
    }
}
