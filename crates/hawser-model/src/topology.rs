//! The cluster as the file, the command line or the lab describes it.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::IpNet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::host::Interface;
use crate::names::{HostName, InterfaceName, LinkName};
use crate::units::{BitsPerSec, Mtu};

/// Nodes and the links between them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Topology {
    /// The cluster's name.
    pub cluster: String,
    /// Its nodes, in the file's order.
    pub nodes: Vec<Node>,
    /// Its links, in the file's order.
    pub links: Vec<Link>,
}

/// A node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Node {
    /// Its name.
    pub name: HostName,
    /// How the agent is started there.
    pub reach: Reach,
    /// Its address on each link it is on. Empty means: to be read from the host.
    pub addresses: BTreeMap<LinkName, IpAddr>,
}

/// How a node is reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reach {
    /// The operator's own `ssh`, with this destination (an alias of `~/.ssh/config` is fine).
    Ssh(String),
    /// A node of the lab of this name.
    Lab(String),
}

impl Reach {
    /// Whether nodes that are reached so may be one machine, whose kernel they share: those of a lab.
    pub fn may_share_a_machine(&self) -> bool {
        matches!(self, Self::Lab(_))
    }

    /// The option of a command line that names it again, and its value.
    pub fn option(&self) -> (&'static str, &str) {
        match self {
            Self::Ssh(destination) => ("--host", destination),
            Self::Lab(lab) => ("--lab", lab),
        }
    }
}

/// A link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Link {
    /// Its name.
    pub name: LinkName,
    /// The MTU every port of it should have, when the file says so.
    pub mtu: Option<Mtu>,
    /// The speed every port of it should have, when the file says so.
    pub speed: Option<BitsPerSec>,
    /// The switch it runs over: links with different switches must not share a failure domain.
    pub switch: Option<String>,
    /// It is a null-modem cable: too slow to be measured.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub serial: bool,
}

impl Topology {
    /// The same with nobody on null-modem cables: what can be measured.
    #[must_use]
    pub fn without_serial_links(mut self) -> Self {
        let links = &self.links;
        let is_serial =
            |name: &LinkName| links.iter().any(|link| link.serial && link.name == *name);
        for node in &mut self.nodes {
            node.addresses.retain(|link, _| !is_serial(link));
        }
        self
    }

    /// The node of that name.
    pub fn node(&self, name: &HostName) -> Option<&Node> {
        self.nodes.iter().find(|n| n.name == *name)
    }

    /// The link of that name.
    pub fn link(&self, name: &LinkName) -> Option<&Link> {
        self.links.iter().find(|l| l.name == *name)
    }

    /// The link, and the host's interface on it, by which others reach an address of the host: the one that has it, else, for one that has
    /// moved away a moment ago, the one whose own address is in its network.
    pub fn reached_by<'a>(
        &'a self,
        host: &HostName,
        interfaces: &'a BTreeMap<InterfaceName, Interface>,
        address: IpAddr,
    ) -> Option<(&'a LinkName, &'a InterfaceName)> {
        let own = &self.node(host)?.addresses;
        let ends = || {
            own.iter().filter_map(|(link, own)| {
                let mut all = interfaces.iter();
                let (name, interface) = all.find(|(_, interface)| interface.has(*own))?;
                Some((link, *own, name, interface))
            })
        };
        let near = || {
            ends().find(|(_, own, _, interface)| {
                let prefix = interface.addresses.iter().find(|(it, _)| it == own);
                let network = prefix.and_then(|(own, prefix)| IpNet::new(*own, *prefix).ok());
                network.is_some_and(|network| network.contains(&address))
            })
        };
        let there = ends().find(|(.., interface)| interface.has(address));
        there.or_else(near).map(|(link, _, name, _)| (link, name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_reached_by_the_link_in_whose_network_it_is() {
        let port = |addresses: &[(&str, u8)]| Interface {
            addresses: addresses
                .iter()
                .map(|(address, prefix)| (address.parse().unwrap(), *prefix))
                .collect(),
            ..Interface::default()
        };
        // The second address of eth2 is a pool's, of a network of its own.
        let interfaces: BTreeMap<InterfaceName, Interface> = [
            ("eth1".into(), port(&[("10.72.2.1", 24)])),
            // In the network of eth1, by its prefix.
            ("eth0".into(), port(&[("10.72.4.1", 16), ("10.72.2.9", 24)])),
            ("eth2".into(), port(&[("10.72.3.1", 24), ("192.0.2.7", 32)])),
            ("eth3".into(), port(&[("198.51.100.1", 24)])),
        ]
        .into();
        let addresses = [
            ("san01", "10.72.2.1"),
            ("san02", "10.72.3.1"),
            ("san03", "10.72.4.1"),
        ];
        let node = Node {
            name: "head1".into(),
            reach: Reach::Lab("t".into()),
            addresses: addresses
                .map(|(link, address)| (link.into(), address.parse().unwrap()))
                .into(),
        };
        let topology = Topology {
            nodes: vec![node],
            ..Topology::default()
        };
        let by = |host: &str, address: &str| {
            let address = address.parse().unwrap();
            let reached = topology.reached_by(&host.into(), &interfaces, address);
            reached.map(|(link, interface)| (link.to_string(), interface.to_string()))
        };
        let san = |link: &str, port: &str| Some((link.to_owned(), port.to_owned()));
        // One that has moved to another head a moment ago is still known.
        assert_eq!(by("head1", "10.72.2.207"), san("san01", "eth1"));
        assert_eq!(by("head1", "10.72.3.207"), san("san02", "eth2"));
        assert_eq!(by("head1", "192.0.2.7"), san("san02", "eth2"));
        assert_eq!(by("head1", "10.72.2.9"), san("san03", "eth0"));
        assert_eq!(by("head1", "198.51.100.1"), None);
        assert_eq!(by("head2", "10.72.2.207"), None);
    }
}
