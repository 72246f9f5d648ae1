//! Nodes in standby, and what Pacemaker remembers of failures.

use std::time::Duration;

use hawser_host::{Answers, Ask, Declined, Stop};
use serde::{Deserialize, Serialize};

use super::{Machine, USUAL};
use crate::host::{pacemaker, run};

/// Puts a node in standby, or takes it out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Standby {
    /// The node.
    pub node: String,
    /// In, or out.
    pub on: bool,
}

impl Ask for Standby {
    type Answer = ();
    const NAME: &'static str = "standby";
    const PATIENCE: Duration = USUAL;
}

impl Answers<Machine> for Standby {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<(), Declined> {
        Ok(pacemaker::standby(&self.node, self.on)?)
    }
}

/// Forgets what Pacemaker remembers of failures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ForgetFailures;

impl Ask for ForgetFailures {
    type Answer = ();
    const NAME: &'static str = "forget failures";
    const PATIENCE: Duration = USUAL;
}

impl Answers<Machine> for ForgetFailures {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<(), Declined> {
        run::tool("crm_resource", &["--cleanup"], None)?;
        run::tool("stonith_admin", &["--cleanup", "--history", "*"], None)?;
        Ok(())
    }
}
