//! Who else has an address of this host.

use std::net::Ipv4Addr;

use hawser_host::{Answers, Ask, Declined, Size, Stop};
use hawser_kernel::interfaces;
use hawser_model::names::{HostName, LinkName};
use hawser_model::probe::OwnAddresses;
use hawser_wire::own_address;
use serde::{Deserialize, Serialize};

use crate::node::Node;

/// Asks for those of these addresses that the host has. Answers for which it asked, and who else claims them.
#[derive(Debug, Serialize, Deserialize)]
pub struct AskForOwn {
    /// The host's name, for what it says.
    pub host: HostName,
    /// Addresses, each with the link that it is on. One that no interface of the host has, or only one that is down and hears
    /// no answer, is not asked for.
    pub addresses: Vec<(LinkName, Ipv4Addr)>,
}

impl Ask for AskForOwn {
    type Answer = OwnAddresses;
    const NAME: &'static str = "ask for own addresses";
    const SIZE: Size = Size::Recorded;

    fn may_say(own: &OwnAddresses, host: &HostName) -> bool {
        let claims = own.claims.iter().map(|claim| &claim.host);
        let mut all = own.asked.iter().map(|asked| &asked.host).chain(claims);
        all.all(|said| said == host)
    }
}

impl Answers<Node> for AskForOwn {
    fn answer(self, _: &mut Node, _: &Stop) -> Result<OwnAddresses, Declined> {
        let interfaces = interfaces()?;
        let with = |address: Ipv4Addr| {
            let mut all = interfaces.iter();
            let found = all.find(|(_, it)| it.up && it.has(address.into()));
            found.map(|(name, _)| name.clone())
        };
        let asked = self.addresses.into_iter();
        let asked: Vec<_> = asked
            .filter_map(|(link, address)| Some((with(address)?, link, address)))
            .collect();
        Ok(own_address::claims(&asked, &self.host)?)
    }
}
