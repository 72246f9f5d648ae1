//! Sending a flow, with an eye on the cluster.

use std::time::Duration;

use hawser_host::{Answers, Ask, Declined, SOON, Size, Stop};
use hawser_model::traffic::FlowId;
use hawser_model::units::Nanos;
use serde::{Deserialize, Serialize};

use super::{Care, Sent, span};
use crate::node::Node;

/// Sends the flow of an open sender to its end, or until it is stopped.
#[derive(Debug, Serialize, Deserialize)]
pub struct RunSender {
    /// The flow.
    pub flow: FlowId,
    /// The receiver's port.
    pub peer_port: u16,
    /// Whether to stop when a Corosync on this host reports trouble.
    pub care: Care,
    /// How long the flow lasts.
    pub lasts: Nanos,
}

impl Ask for RunSender {
    type Answer = Sent;
    const NAME: &'static str = "run sender";
    const SIZE: Size = Size::Recorded;

    fn patience(&self) -> Duration {
        span(self.lasts) + SOON
    }
}

impl Answers<Node> for RunSender {
    fn answer(self, node: &mut Node, stop: &Stop) -> Result<Sent, Declined> {
        node.flows
            .run_sender(self.flow, self.peer_port, self.care, stop)
    }
}
