//! The end of a path-MTU search that searches.

use std::net::IpAddr;
use std::time::Duration;

use hawser_host::{Answers, Ask, Declined, SOON, Stop};
use hawser_model::probe::PathMtu;
use hawser_model::units::{Mtu, Nanos};
use hawser_wire::search_path_mtu;
use serde::{Deserialize, Serialize};

use super::span;
use crate::node::Node;

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
