//! Who else has an address of this host.

use std::net::Ipv4Addr;

use hawser_host::{Answers, Ask, Declined, Size, Stop};
use hawser_model::names::{HostName, InterfaceName, LinkName};
use hawser_model::probe::AddressClaim;
use hawser_wire::own_address;
use serde::{Deserialize, Serialize};

use crate::node::Node;

/// Asks for the host's own addresses on its links. Answers who else claims them.
#[derive(Debug, Serialize, Deserialize)]
pub struct AskForOwn(pub Vec<(InterfaceName, LinkName, Ipv4Addr)>);

impl Ask for AskForOwn {
    type Answer = Vec<AddressClaim>;
    const NAME: &'static str = "ask for own addresses";
    const SIZE: Size = Size::Recorded;

    fn may_say(claims: &Vec<AddressClaim>, host: &HostName) -> bool {
        claims.iter().all(|claim| claim.host == *host)
    }
}

impl Answers<Node> for AskForOwn {
    fn answer(self, node: &mut Node, _: &Stop) -> Result<Vec<AddressClaim>, Declined> {
        Ok(own_address::claims(&self.0, &node.session()?.host)?)
    }
}
