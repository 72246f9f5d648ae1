//! The two ends of a flow, before it runs.

use hawser_host::{Answers, Ask, Declined, Stop};
use hawser_model::traffic::{FlowId, FlowSpec};
use serde::{Deserialize, Serialize};

use crate::node::Node;

/// Binds a receiver and starts to read. Answers its port.
#[derive(Debug, Serialize, Deserialize)]
pub struct OpenReceiver(pub FlowSpec);

impl Ask for OpenReceiver {
    type Answer = u16;
    const NAME: &'static str = "open receiver";
}

impl Answers<Node> for OpenReceiver {
    fn answer(self, node: &mut Node, _: &Stop) -> Result<u16, Declined> {
        let key = node.session()?.run_key;
        node.flows.open_receiver(&self.0, key)
    }
}

/// Binds a sender. Answers its local port.
#[derive(Debug, Serialize, Deserialize)]
pub struct OpenSender(pub FlowSpec);

impl Ask for OpenSender {
    type Answer = u16;
    const NAME: &'static str = "open sender";
}

impl Answers<Node> for OpenSender {
    fn answer(self, node: &mut Node, _: &Stop) -> Result<u16, Declined> {
        let key = node.session()?.run_key;
        node.flows.open_sender(&self.0, key)
    }
}

/// Tells an open receiver the port of its sender.
#[derive(Debug, Serialize, Deserialize)]
pub struct ExpectFrom {
    /// The receiver's flow.
    pub flow: FlowId,
    /// The sender's local port.
    pub port: u16,
}

impl Ask for ExpectFrom {
    type Answer = ();
    const NAME: &'static str = "expect from";
}

impl Answers<Node> for ExpectFrom {
    fn answer(self, node: &mut Node, _: &Stop) -> Result<(), Declined> {
        node.flows.expect_from(self.flow, self.port)
    }
}
