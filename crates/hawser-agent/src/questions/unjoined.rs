//! Packets to a group that nobody joins: whether a switch filters.

use std::net::IpAddr;

use hawser_host::{Answers, Ask, Declined, Stop};
use hawser_model::units::Packets;
use hawser_wire::multicast::send_unjoined;
use serde::{Deserialize, Serialize};

use crate::node::Node;

/// Sends packets to a group that nobody joins. Answers how many.
#[derive(Debug, Serialize, Deserialize)]
pub struct SendUnjoined {
    /// The host's own address on the link.
    pub source: IpAddr,
    /// The group.
    pub group: IpAddr,
}

impl Ask for SendUnjoined {
    type Answer = Packets;
    const NAME: &'static str = "send to a group nobody joins";
}

impl Answers<Node> for SendUnjoined {
    fn answer(self, node: &mut Node, _: &Stop) -> Result<Packets, Declined> {
        let key = node.session()?.run_key;
        Ok(send_unjoined(self.source, self.group, key)?)
    }
}
