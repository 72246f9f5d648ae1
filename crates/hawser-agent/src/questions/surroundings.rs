//! What is around a machine that is to be a head. No question changes that.

use std::time::Duration;

use hawser_host::{Answers, Ask, Declined, Size, Stop};
use hawser_kernel::surroundings;
use hawser_model::surroundings::Surroundings;
use serde::{Deserialize, Serialize};

use crate::node::Node;

/// Reads the neighbours, the disks, the volume groups and the management controller of a machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReadSurroundings;

impl Ask for ReadSurroundings {
    type Answer = Surroundings;
    const NAME: &'static str = "what is around the host";
    const SIZE: Size = Size::Recorded;
    // Six tools, each with a limit of its own.
    const PATIENCE: Duration = Duration::from_secs(150);
}

impl Answers<Node> for ReadSurroundings {
    fn answer(self, _: &mut Node, _: &Stop) -> Result<Surroundings, Declined> {
        Ok(surroundings())
    }
}
