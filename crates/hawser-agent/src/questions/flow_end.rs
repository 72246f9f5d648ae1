//! The end of a flow.

use std::time::Duration;

use hawser_host::{Answers, Ask, Declined, SOON, Size, Stop};
use hawser_model::traffic::{FlowId, ReceiverReport};
use hawser_model::units::{Nanos, Packets};
use serde::{Deserialize, Serialize};

use super::span;
use crate::node::Node;

/// Drains, closes and reports a receiver.
#[derive(Debug, Serialize, Deserialize)]
pub struct FinishReceiver {
    /// The flow.
    pub flow: FlowId,
    /// What its sender sent.
    pub sent: Packets,
    /// How long the queue must stay empty.
    pub settle: Nanos,
}

impl Ask for FinishReceiver {
    type Answer = ReceiverReport;
    const NAME: &'static str = "finish receiver";
    const SIZE: Size = Size::Recorded;

    fn patience(&self) -> Duration {
        span(self.settle) + SOON
    }
}

impl Answers<Node> for FinishReceiver {
    fn answer(self, node: &mut Node, _: &Stop) -> Result<ReceiverReport, Declined> {
        node.flows
            .finish_receiver(self.flow, self.sent, span(self.settle))
    }
}

/// Drops whatever is open of a flow, because its other end could not be opened. It is no error if nothing is.
#[derive(Debug, Serialize, Deserialize)]
pub struct DropFlow(pub FlowId);

impl Ask for DropFlow {
    type Answer = ();
    const NAME: &'static str = "drop flow";
}

impl Answers<Node> for DropFlow {
    fn answer(self, node: &mut Node, _: &Stop) -> Result<(), Declined> {
        node.flows.drop_flow(self.0);
        Ok(())
    }
}
