//! Reading the host's hardware.

use hawser_host::{Answers, Ask, Declined, Size, Stop};
use hawser_kernel::hardware;
use hawser_model::ladder::Hardware;
use serde::{Deserialize, Serialize};

use crate::node::Node;

/// Reads the host's hardware.
#[derive(Debug, Serialize, Deserialize)]
pub struct ReadHardware;

impl Ask for ReadHardware {
    type Answer = Hardware;
    const NAME: &'static str = "hardware";
    const SIZE: Size = Size::Recorded;
}

impl Answers<Node> for ReadHardware {
    fn answer(self, _: &mut Node, _: &Stop) -> Result<Hardware, Declined> {
        Ok(hardware())
    }
}
