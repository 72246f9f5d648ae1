//! The password of a head's BMC was changed and the cluster was not told: the other heads cannot switch it off, and
//! what runs on it must not be taken over.

use hawser_cluster::host::drill::HostFault;
use hawser_model::names::HostName;

use super::Fault;
use super::host::{make, mend};
use crate::context::DrillContext;
use crate::error::DrillError;

/// See the module. What is changed is the password that the other heads know, which comes to the same.
pub struct WrongPassword {
    /// The head whose BMC it is.
    pub head: HostName,
}

impl WrongPassword {
    /// The fence device of the head, whose password the others have.
    fn device(&self) -> String {
        format!("fence-{}", self.head)
    }

    fn on_others(
        &self,
        context: &DrillContext<'_>,
        act: fn(&DrillContext<'_>, &HostName, &HostFault) -> Result<(), DrillError>,
    ) -> Result<(), DrillError> {
        let device = self.device();
        let fault = HostFault::WrongPassword { device };
        let mut done = Ok(());
        for head in context.heads.iter().filter(|head| **head != self.head) {
            done = done.and(act(context, head, &fault));
        }
        done
    }
}

impl Fault for WrongPassword {
    fn name(&self) -> &'static str {
        "wrong-password"
    }

    fn hosts(&self) -> Vec<HostName> {
        vec![self.head.clone()]
    }

    fn object(&self) -> Option<String> {
        Some("BMC".to_owned())
    }

    fn make(&self, context: &DrillContext<'_>) -> Result<(), DrillError> {
        self.on_others(context, make)
    }

    fn evidence(&self, context: &DrillContext<'_>) -> Result<Option<String>, DrillError> {
        let now = context.cluster.status().map_err(DrillError::CouldNot)?;
        let device = self.device();
        let mut said = now.degraded.iter();
        let said = said.find(|line| line.contains(&device));
        Ok(said.cloned())
    }

    fn heal(&self, context: &DrillContext<'_>) -> Result<(), DrillError> {
        self.on_others(context, mend)
    }
}
