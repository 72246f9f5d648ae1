//! What a lab is made of, every default filled in, and where each address comes from.

use crate::cluster::ClusterSpec;
use crate::machines::image::Content;
use crate::machines::{Card, Kind, Release};
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use hawser_model::names::{HostName, LinkName};
use hawser_model::units::Mtu;
use ipnet::{Ipv4Net, Ipv6Net};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most nodes and clients in a lab: their number is a byte of a MAC address and stays well
/// inside a /24.
pub const MOST_NODES: usize = 64;
/// Most links, and most switches, in a lab.
pub const MOST_LINKS: usize = 16;
/// The MTU of a link that does not name one.
pub const DEFAULT_MTU: Mtu = Mtu(1500);

/// A lab as asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabSpec {
    /// The switches, in the file's order.
    pub switches: Vec<SwitchSpec>,
    /// The links, in the file's order.
    pub links: Vec<LinkSpec>,
    /// Nodes, then clients, in the file's order.
    pub nodes: Vec<NodeSpec>,
    /// What a storage cluster needs beside them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterSpec>,
    /// What its nodes are that do not say it themselves.
    #[serde(default, skip_serializing_if = "Kind::is_namespace")]
    pub kind: Kind,
    /// The release of Debian that they have, if they are machines.
    #[serde(default, skip_serializing_if = "Release::is_default")]
    pub release: Release,
}

/// A switch: one bridge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwitchSpec {
    /// Its name, which is the bridge's.
    pub name: String,
    /// IGMP and MLD snooping.
    pub snooping: bool,
    /// Sends IGMP and MLD queries.
    pub querier: bool,
}

/// A link: a network of its own over one switch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkSpec {
    /// Its name, which is the interface's in every node.
    pub name: LinkName,
    /// The switch it runs over.
    pub switch: String,
    /// The MTU of every port on it.
    pub mtu: Mtu,
    /// Its IPv4 network.
    pub ipv4: Option<Ipv4Net>,
    /// Its IPv6 network.
    pub ipv6: Option<Ipv6Net>,
    /// The card that emulated machines have on it.
    #[serde(default, skip_serializing_if = "Card::is_default")]
    pub card: Card,
    /// It is a null-modem cable between two machines, over which they speak PPP.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub serial: bool,
}

/// What a node is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// A member of the cluster.
    Member,
    /// A machine beside the cluster; not part of the topology that is checked.
    Client,
    /// A machine whose disks the members of the cluster have.
    Shelf,
    /// The machine whose vote the members of the cluster count: it runs corosync-qnetd.
    Arbiter,
}

/// A node or client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeSpec {
    /// Its name, which is its host name.
    pub name: HostName,
    /// What it is for.
    pub role: Role,
    /// Its interfaces.
    pub ports: Vec<PortSpec>,
    /// What kind of machine it is in a lab of machines; absent: as the lab says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Kind>,
}

/// An interface of a node on a link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortSpec {
    /// The link.
    pub link: LinkName,
    /// Its IPv4 address.
    pub ipv4: Option<Ipv4Addr>,
    /// Its IPv6 address.
    pub ipv6: Option<Ipv6Addr>,
}

impl LabSpec {
    /// What the image of its machines of a kind is to have.
    pub(crate) fn content(&self, kind: Kind) -> Content {
        Content {
            kind,
            release: self.release,
            zfs: self.has_zfs(),
        }
    }

    /// Whether its machines have ZFS.
    pub(crate) fn has_zfs(&self) -> bool {
        self.cluster.as_ref().is_some_and(ClusterSpec::has_zfs)
    }

    /// What this node is.
    pub fn kind_of(&self, node: &NodeSpec) -> Kind {
        match self.kind {
            Kind::Namespace => Kind::Namespace,
            of_lab => node.machine.unwrap_or(of_lab),
        }
    }

    /// What its nodes are, each kind once.
    pub(crate) fn kinds(&self) -> BTreeSet<Kind> {
        self.nodes.iter().map(|node| self.kind_of(node)).collect()
    }

    /// Whether a file says of its machines what they are, which nodes without kernels are not.
    pub fn says_of_machines(&self) -> bool {
        let a_node = self.nodes.iter().any(|node| node.machine.is_some());
        let of_machines = |link: &LinkSpec| link.serial || !link.card.is_default();
        a_node || self.links.iter().any(of_machines)
    }

    /// How many times longer than in namespaces what is done on its nodes may take.
    pub(crate) fn slowness(&self) -> u32 {
        let all = self.kinds().into_iter().map(Kind::slowness);
        all.max().unwrap_or(1)
    }

    /// `nodes` members `head1`…, each on `links` links `ring0`… over switches `sw0`….
    ///
    /// Counts are clamped to what a lab can hold ([`MOST_NODES`], [`MOST_LINKS`]), at least one.
    pub fn grid(nodes: usize, links: usize) -> Self {
        let links: Vec<LinkSpec> = (0..links.clamp(1, MOST_LINKS))
            .map(|i| LinkSpec {
                name: LinkName(format!("ring{i}")),
                switch: format!("sw{i}"),
                mtu: DEFAULT_MTU,
                ipv4: Some(default_ipv4(i)),
                ipv6: Some(default_ipv6(i)),
                card: Card::default(),
                serial: false,
            })
            .collect();
        let nodes = (0..nodes.clamp(1, MOST_NODES))
            .map(|n| NodeSpec {
                name: HostName(format!("head{}", n + 1)),
                role: Role::Member,
                ports: links
                    .iter()
                    .map(|link| PortSpec {
                        link: link.name.clone(),
                        ipv4: link.ipv4.and_then(|net| nth_ipv4(net, n)),
                        ipv6: link.ipv6.and_then(|net| nth_ipv6(net, n)),
                    })
                    .collect(),
                machine: None,
            })
            .collect();
        Self {
            switches: links
                .iter()
                .map(|link| SwitchSpec {
                    name: link.switch.clone(),
                    snooping: false,
                    querier: false,
                })
                .collect(),
            links,
            nodes,
            cluster: None,
            kind: Kind::Namespace,
            release: Release::default(),
        }
    }

    /// The link of that name.
    pub fn link(&self, name: &str) -> Option<&LinkSpec> {
        self.links.iter().find(|l| l.name.as_str() == name)
    }

    /// The node or client of that name.
    pub fn node(&self, name: &str) -> Option<&NodeSpec> {
        self.nodes.iter().find(|n| n.name.as_str() == name)
    }

    /// The switch of that name.
    pub fn switch(&self, name: &str) -> Option<&SwitchSpec> {
        self.switches.iter().find(|s| s.name == name)
    }
}

impl Default for LabSpec {
    /// Two nodes and two independent links.
    fn default() -> Self {
        Self::grid(2, 2)
    }
}

impl PortSpec {
    /// The address that stands for the port: IPv4 when it has one.
    pub fn address(&self) -> Option<IpAddr> {
        self.ipv4.map(IpAddr::from).or(self.ipv6.map(IpAddr::from))
    }
}

/// The IPv4 network of the link at `index`: `10.72.index.0/24`.
///
/// Labs are closed networks, so the same ranges serve every lab.
pub fn default_ipv4(index: usize) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(10, 72, index as u8, 0), 24)
}

/// The IPv6 network of the link at `index`: `fd48:6177:7365:index::/64`, a unique local prefix
/// (RFC 4193) whose forty "random" bits spell "Hawse".
pub fn default_ipv6(index: usize) -> Ipv6Net {
    let network = Ipv6Addr::new(0xfd48, 0x6177, 0x7365, index as u16, 0, 0, 0, 0);
    Ipv6Net::new_assert(network, 64)
}

/// The address of the node at `index` (from 0) in `net`: the `index + 1`th; `None` when the
/// network is too small.
pub fn nth_ipv4(net: Ipv4Net, index: usize) -> Option<Ipv4Addr> {
    net.hosts().nth(index)
}

/// The address of the node at `index` (from 0) in `net`.
pub fn nth_ipv6(net: Ipv6Net, index: usize) -> Option<Ipv6Addr> {
    let address = Ipv6Addr::from(u128::from(net.network()) + index as u128 + 1);
    net.contains(&address).then_some(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_lab_is_two_heads_on_two_independent_switches() {
        let lab = LabSpec::default();
        let head2 = lab.node("head2").unwrap();
        assert_eq!(lab.nodes.len(), 2);
        assert_eq!(lab.link("ring0").unwrap().switch, "sw0");
        assert_eq!(lab.link("ring1").unwrap().switch, "sw1");
        assert_eq!(head2.ports[1].ipv4, Some("10.72.1.2".parse().unwrap()));
        assert_eq!(
            head2.ports[1].ipv6,
            Some("fd48:6177:7365:1::2".parse().unwrap())
        );
    }

    #[test]
    fn a_network_too_small_for_the_nodes_gives_no_address() {
        let net: Ipv4Net = "10.0.0.0/30".parse().unwrap();
        assert_eq!(nth_ipv4(net, 1), Some("10.0.0.2".parse().unwrap()));
        assert_eq!(nth_ipv4(net, 2), None);
    }
}
