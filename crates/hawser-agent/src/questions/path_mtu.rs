//! The path MTU: one end answers, the other searches.

use std::net::IpAddr;
use std::time::Duration;

use hawser_host::{Answers, Ask, Declined, SOON, Stop};
use hawser_model::probe::PathMtu;
use hawser_model::units::{Mtu, Nanos};
use hawser_wire::{PathMtuResponder, search_path_mtu};
use serde::{Deserialize, Serialize};

use super::span;
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

/// Searches the path MTU.
#[derive(Debug, Serialize, Deserialize)]
pub struct SearchPathMtu {
    /// The host's own address on the link.
    pub source: IpAddr,
    /// The responder's address.
    pub destination: IpAddr,
    /// The responder's port.
    pub port: u16,
    /// MTU of the sending interface.
    pub interface_mtu: Mtu,
    /// How long the search may take.
    pub deadline: Nanos,
}

impl Ask for SearchPathMtu {
    type Answer = PathMtu;
    const NAME: &'static str = "search path MTU";

    fn patience(&self) -> Duration {
        span(self.deadline) + SOON
    }
}

impl Answers<Node> for SearchPathMtu {
    fn answer(self, node: &mut Node, _: &Stop) -> Result<PathMtu, Declined> {
        Ok(search_path_mtu(
            self.source,
            self.destination,
            self.port,
            node.session()?.run_key,
            self.interface_mtu,
            span(self.deadline),
        )?)
    }
}
