//! A topology from hosts' own interfaces, for `hawser check --host A --host B` without a file.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use hawser_model::host::HostFacts;
use hawser_model::names::{HostName, InterfaceName, LinkName};
use hawser_model::topology::{Link, Node, Reach, Topology};

/// An address and the interface that carries it.
type Port<'a> = (&'a InterfaceName, IpAddr);

/// The links the hosts share: networks on which at least two of them have an address.
///
/// A link is named after its network (`10.0.1.0/24`). Loopback, link-local and host routes
/// (/32, /128) connect nobody and are left out; of several addresses of a host in one
/// network the first counts. Networks on the very same interfaces are one link, measured over
/// the first of them (IPv4 before IPv6): two families on a wire are not two links.
pub fn discover(hosts: &[(HostName, Reach, &HostFacts)]) -> Topology {
    let mut links: BTreeMap<(IpAddr, u8), BTreeMap<HostName, Port>> = BTreeMap::new();
    for (name, _, facts) in hosts {
        for (on, interface) in facts.interfaces.iter().filter(|(_, i)| i.up) {
            for &(address, prefix) in &interface.addresses {
                if connects(address, prefix) {
                    links
                        .entry((network(address, prefix), prefix))
                        .or_default()
                        .entry(name.clone())
                        .or_insert((on, address));
                }
            }
        }
    }
    let mut known: Vec<BTreeMap<HostName, &InterfaceName>> = Vec::new();
    links.retain(|_, members| {
        let wires: BTreeMap<_, _> = members
            .iter()
            .map(|(h, (on, _))| (h.clone(), *on))
            .collect();
        let addresses: BTreeSet<IpAddr> = members.values().map(|(_, address)| *address).collect();
        let new = addresses.len() > 1 && !known.contains(&wires);
        if new {
            known.push(wires);
        }
        new
    });
    let named: Vec<(LinkName, BTreeMap<HostName, Port>)> = links
        .into_iter()
        .map(|((net, prefix), members)| (LinkName(format!("{net}/{prefix}")), members))
        .collect();
    Topology {
        cluster: hosts
            .iter()
            .map(|(n, ..)| n.as_str())
            .collect::<Vec<_>>()
            .join("+"),
        nodes: hosts
            .iter()
            .map(|(name, reach, _)| Node {
                name: name.clone(),
                reach: reach.clone(),
                addresses: named
                    .iter()
                    .filter_map(|(link, members)| Some((link.clone(), members.get(name)?.1)))
                    .collect(),
            })
            .collect(),
        links: named
            .into_iter()
            .map(|(name, _)| Link {
                name,
                mtu: None,
                speed: None,
                switch: None,
                serial: false,
            })
            .collect(),
    }
}

pub(crate) fn connects(address: IpAddr, prefix: u8) -> bool {
    match address {
        IpAddr::V4(v4) => !v4.is_loopback() && !v4.is_link_local() && prefix < 32,
        IpAddr::V6(v6) => !v6.is_loopback() && !v6.is_unicast_link_local() && prefix < 128,
    }
}

pub(crate) fn network(address: IpAddr, prefix: u8) -> IpAddr {
    match address {
        IpAddr::V4(v4) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0);
            IpAddr::V4((u32::from(v4) & mask).into())
        }
        IpAddr::V6(v6) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(prefix)).unwrap_or(0);
            IpAddr::V6((u128::from(v6) & mask).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use hawser_model::host::Interface;

    use super::*;

    #[test]
    fn two_families_on_one_wire_are_one_link() {
        let both = |v4: &str, v6: &str| {
            let eth1 = Interface {
                up: true,
                addresses: vec![(v4.parse().unwrap(), 24), (v6.parse().unwrap(), 64)],
                ..Interface::default()
            };
            let interfaces = BTreeMap::from([(InterfaceName::from("eth1"), eth1)]);
            HostFacts {
                interfaces,
                ..HostFacts::default()
            }
        };
        let (a, b) = (both("10.0.1.1", "fd00::1"), both("10.0.1.2", "fd00::2"));
        let reach = Reach::Ssh("x".into());
        let topology = discover(&[("a".into(), reach.clone(), &a), ("b".into(), reach, &b)]);
        let links: Vec<_> = topology.links.iter().map(|l| l.name.as_str()).collect();
        assert_eq!(links, ["10.0.1.0/24"]);
    }

    fn host(addresses: &[(&str, u8)]) -> HostFacts {
        let interfaces = addresses
            .iter()
            .enumerate()
            .map(|(i, (address, prefix))| {
                let interface = Interface {
                    up: true,
                    addresses: vec![(address.parse().unwrap(), *prefix)],
                    ..Interface::default()
                };
                (InterfaceName(format!("eth{i}")), interface)
            })
            .collect();
        HostFacts {
            interfaces,
            ..HostFacts::default()
        }
    }

    #[test]
    fn hosts_share_the_networks_they_both_have_an_address_in() {
        let a = host(&[
            ("127.0.0.1", 8),
            ("10.0.1.1", 24),
            ("10.0.2.1", 24),
            ("172.17.0.1", 16),
            ("fe80::1", 64),
        ]);
        let b = host(&[
            ("127.0.0.1", 8),
            ("10.0.1.2", 24),
            ("10.0.3.2", 24),
            ("172.17.0.1", 16),
            ("fe80::2", 64),
        ]);
        let reach = Reach::Ssh("x".into());
        let topology = discover(&[("a".into(), reach.clone(), &a), ("b".into(), reach, &b)]);
        assert_eq!(topology.links.len(), 1);
        assert_eq!(topology.links[0].name.as_str(), "10.0.1.0/24");
        let address = topology.nodes[1].addresses["10.0.1.0/24"];
        assert_eq!(address, "10.0.1.2".parse::<IpAddr>().unwrap());
    }
}
