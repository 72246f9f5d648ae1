//! Processors and counters while something runs.

use std::time::Duration;

use hawser_host::{Answers, Ask, Declined, SLOW, Size, Stop};
use hawser_model::ladder::HostUsage;
use serde::{Deserialize, Serialize};

use crate::node::Node;

/// Starts to watch processors and counters.
#[derive(Debug, Serialize, Deserialize)]
pub struct OpenUsage;

impl Ask for OpenUsage {
    type Answer = ();
    const NAME: &'static str = "open usage";
    const PATIENCE: Duration = SLOW;
}

impl Answers<Node> for OpenUsage {
    fn answer(self, node: &mut Node, _: &Stop) -> Result<(), Declined> {
        node.open_usage()
    }
}

/// Ends watching them: what they did.
#[derive(Debug, Serialize, Deserialize)]
pub struct CloseUsage;

impl Ask for CloseUsage {
    type Answer = HostUsage;
    const NAME: &'static str = "close usage";
    const SIZE: Size = Size::Recorded;
    const PATIENCE: Duration = SLOW;
}

impl Answers<Node> for CloseUsage {
    fn answer(self, node: &mut Node, _: &Stop) -> Result<HostUsage, Declined> {
        node.close_usage()
    }
}
