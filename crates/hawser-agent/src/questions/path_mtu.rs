//! The end of a path-MTU search that answers.

use std::net::IpAddr;

use hawser_host::{Answers, Ask, Declined, Stop};
use hawser_wire::PathMtuResponder;
use serde::{Deserialize, Serialize};

use crate::node::Node;

/// Opens the answering end of a search, instead of any that was open before. Answers its port.
#[derive(Debug, Serialize, Deserialize)]
pub struct OpenPathMtuResponder {
    /// The host's own address on the link.
    pub address: IpAddr,
}

impl Ask for OpenPathMtuResponder {
    type Answer = u16;
    const NAME: &'static str = "open path-MTU responder";
}

impl Answers<Node> for OpenPathMtuResponder {
    fn answer(self, node: &mut Node, _: &Stop) -> Result<u16, Declined> {
        // One at a time: the one before goes first, also when this one cannot be opened.
        node.responder = None;
        let responder = PathMtuResponder::open(self.address, node.session()?.run_key)?;
        Ok(node.responder.insert(responder).port())
    }
}

/// Closes it.
#[derive(Debug, Serialize, Deserialize)]
pub struct ClosePathMtuResponder;

impl Ask for ClosePathMtuResponder {
    type Answer = ();
    const NAME: &'static str = "close path-MTU responder";
}

impl Answers<Node> for ClosePathMtuResponder {
    fn answer(self, node: &mut Node, _: &Stop) -> Result<(), Declined> {
        node.responder = None;
        Ok(())
    }
}
