//! Does the topology fit the hosts? Every address must be on an interface of its node. Pure.

use std::collections::BTreeMap;
use std::net::IpAddr;

use hawser_model::host::HostFacts;
use hawser_model::names::{HostName, LinkName};
use hawser_model::topology::Topology;

/// An address of the topology that its node does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingAddress {
    /// The node.
    pub node: HostName,
    /// The link.
    pub link: LinkName,
    /// The address the topology gives it.
    pub address: IpAddr,
    /// The addresses the node really has, with the interface that carries each.
    pub has: Vec<String>,
}

impl std::fmt::Display for MissingAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{}: {} (link {}) is on none of its interfaces; it has {}",
            self.node,
            self.address,
            self.link,
            if self.has.is_empty() {
                "no address".to_owned()
            } else {
                self.has.join(", ")
            }
        )
    }
}

/// All addresses that are not where the topology says.
pub fn missing_addresses(
    topology: &Topology,
    hosts: &BTreeMap<HostName, HostFacts>,
) -> Vec<MissingAddress> {
    let mut found = Vec::new();
    for node in &topology.nodes {
        let Some(facts) = hosts.get(&node.name) else {
            continue;
        };
        for (link, &address) in &node.addresses {
            if facts.interface_with(address).is_none() {
                let has = facts
                    .interfaces
                    .iter()
                    .flat_map(|(name, i)| i.addresses.iter().map(move |(a, _)| (name, a)))
                    .filter(|(_, a)| !a.is_loopback() && a.is_ipv4() == address.is_ipv4())
                    .map(|(name, a)| format!("{a} on {name}"))
                    .collect();
                found.push(MissingAddress {
                    node: node.name.clone(),
                    link: link.clone(),
                    address,
                    has,
                });
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use hawser_model::host::Interface;
    use hawser_model::names::InterfaceName;
    use hawser_model::topology::{Node, Reach};

    use super::*;

    #[test]
    fn a_mistyped_address_is_named_with_those_the_node_has() {
        let eth1 = Interface {
            addresses: vec![([10, 0, 0, 1].into(), 24)],
            ..Interface::default()
        };
        let facts = HostFacts {
            interfaces: BTreeMap::from([(InterfaceName::from("eth1"), eth1)]),
            ..HostFacts::default()
        };
        let topology = Topology {
            cluster: "c".into(),
            nodes: vec![Node {
                name: "head1".into(),
                reach: Reach::Ssh("head1".into()),
                addresses: BTreeMap::from([("ring0".into(), [10, 0, 0, 11].into())]),
            }],
            links: Vec::new(),
        };
        let found = missing_addresses(&topology, &BTreeMap::from([("head1".into(), facts)]));
        assert_eq!(
            found[0].to_string(),
            "head1: 10.0.0.11 (link ring0) is on none of its interfaces; it has 10.0.0.1 on eth1"
        );
    }
}
