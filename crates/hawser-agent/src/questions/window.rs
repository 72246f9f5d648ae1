//! Observing the host while flows run.

use std::time::Duration;

use hawser_host::{Answers, Ask, Declined, SLOW, Size, Stop};
use hawser_model::host::HostWindow;
use hawser_model::traffic::WatchedFlow;
use serde::{Deserialize, Serialize};

use crate::node::Node;

/// Starts to observe the host while these flows run.
#[derive(Debug, Serialize, Deserialize)]
pub struct OpenWindow(pub Vec<WatchedFlow>);

impl Ask for OpenWindow {
    type Answer = ();
    const NAME: &'static str = "open window";
    const PATIENCE: Duration = SLOW;
}

impl Answers<Node> for OpenWindow {
    fn answer(self, node: &mut Node, _: &Stop) -> Result<(), Declined> {
        Ok(node.observer().open(&self.0)?)
    }
}

/// Ends observing: what happened on the host meanwhile.
#[derive(Debug, Serialize, Deserialize)]
pub struct CloseWindow;

impl Ask for CloseWindow {
    type Answer = HostWindow;
    const NAME: &'static str = "close window";
    const SIZE: Size = Size::Recorded;
    const PATIENCE: Duration = SLOW;
}

impl Answers<Node> for CloseWindow {
    fn answer(self, node: &mut Node, _: &Stop) -> Result<HostWindow, Declined> {
        Ok(node.observer().close()?)
    }
}
