//! Sending a resource to a node.

use std::time::Duration;

use hawser_host::{Answers, Ask, Declined, Stop};
use serde::{Deserialize, Serialize};

use super::{Machine, USUAL};
use crate::host::pacemaker;

/// Sends a resource, with all that hangs on it, to a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MoveResource {
    /// The resource.
    pub resource: String,
    /// The node.
    pub node: String,
    /// After so many seconds the order ends by itself, whatever becomes of whoever gave it.
    pub seconds: u64,
}

impl Ask for MoveResource {
    type Answer = ();
    const NAME: &'static str = "move a resource";
    const PATIENCE: Duration = USUAL;
}

impl Answers<Machine> for MoveResource {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<(), Declined> {
        Ok(pacemaker::send_to(
            &self.resource,
            &self.node,
            self.seconds,
        )?)
    }
}

/// Forgets the order to move a resource, once it was carried out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ForgetMove {
    /// The resource.
    pub resource: String,
}

impl Ask for ForgetMove {
    type Answer = ();
    const NAME: &'static str = "forget a move";
    const PATIENCE: Duration = USUAL;
}

impl Answers<Machine> for ForgetMove {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<(), Declined> {
        Ok(pacemaker::forget_move(&self.resource)?)
    }
}
