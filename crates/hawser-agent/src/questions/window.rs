//! Observing the host while something runs.

use std::time::Duration;

use hawser_host::{Answers, Ask, Declined, SLOW, Size, Stop};
use hawser_model::host::HostWindow;
use hawser_model::ladder::HostUsage;
use hawser_model::traffic::WatchedFlow;
use serde::{Deserialize, Serialize};

use crate::node::Node;

/// Starts to observe the host while these flows run.
#[derive(Debug, Serialize, Deserialize)]
pub struct OpenWindow(pub Vec<WatchedFlow>);

impl Ask for OpenWindow {
    type Answer = ();
    const NAME: &'static str = "open window";

    fn patience(&self) -> Duration {
        SLOW
    }
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

    fn patience(&self) -> Duration {
        SLOW
    }
}

impl Answers<Node> for CloseWindow {
    fn answer(self, node: &mut Node, _: &Stop) -> Result<HostWindow, Declined> {
        Ok(node.observer().close()?)
    }
}

/// Starts to watch processors and counters.
#[derive(Debug, Serialize, Deserialize)]
pub struct OpenUsage;

impl Ask for OpenUsage {
    type Answer = ();
    const NAME: &'static str = "open usage";

    fn patience(&self) -> Duration {
        SLOW
    }
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

    fn patience(&self) -> Duration {
        SLOW
    }
}

impl Answers<Node> for CloseUsage {
    fn answer(self, node: &mut Node, _: &Stop) -> Result<HostUsage, Declined> {
        node.close_usage()
    }
}
