//! The nodes and clients of a lab file.

use std::collections::BTreeMap;
use std::net::IpAddr;

use hawser_model::names::HostName;
use hawser_model::toml_file::{At, Found, Problem};
use ipnet::IpNet;

use super::{Addresses, BrokenLab, LabFile, Names, NodeEntry, at_most};
use crate::machines::Kind;
use crate::name;
use crate::spec::{LinkSpec, MOST_NODES, NodeSpec, PortSpec, Role, nth_ipv4, nth_ipv6};

/// What names a node may have, in words and as a test.
const NODE: (&str, fn(&str) -> bool) = (name::NODE, name::is_node);

/// The nodes, then the clients.
pub(super) fn read(
    file: &LabFile,
    links: &[LinkSpec],
    names: &mut Names,
    found: &mut Found<BrokenLab>,
) -> Vec<NodeSpec> {
    if file.node.is_empty() {
        found.push(BrokenLab::NoNode, 0..0);
    }
    let members = file.node.iter().map(|entry| (Role::Member, entry));
    let clients = file.client.iter().map(|entry| (Role::Client, entry));
    let all: Vec<(Role, &NodeEntry)> = members.chain(clients).collect();
    at_most(
        MOST_NODES,
        "nodes",
        all.iter().map(|(_, it)| &it.name),
        found,
    );
    let mut taken = BTreeMap::new();
    let mut nodes = Vec::new();
    for (index, (role, entry)) in all.into_iter().enumerate().take(MOST_NODES) {
        names.take("node", &entry.name, NODE, found);
        nodes.push(NodeSpec {
            name: HostName(entry.name.get().clone()),
            role,
            ports: ports(entry, links, index, &mut taken, found),
            machine: entry.machine.map(Kind::from),
        });
    }
    null_modems(file, links, &nodes, found);
    nodes
}

/// Two ends are all that a null-modem cable has, and PPP gives each an address of IPv4.
fn null_modems(
    file: &LabFile,
    links: &[LinkSpec],
    nodes: &[NodeSpec],
    found: &mut Found<BrokenLab>,
) {
    for (entry, link) in file.link.iter().zip(links) {
        let Some(serial) = entry.serial.as_ref().filter(|it| ***it) else {
            continue;
        };
        let is_on = |node: &&NodeSpec| node.ports.iter().any(|port| port.link == link.name);
        let span = |key: &Option<At<String>>| key.as_ref().map_or(serial.span(), At::span);
        match (nodes.iter().filter(is_on).count(), link.ipv4, link.ipv6) {
            (2, Some(_), None) => {}
            (2, None, _) => found.push(BrokenLab::SerialNeedsIpv4, span(&entry.ipv4)),
            (2, ..) => found.push(BrokenLab::SerialHasIpv6, span(&entry.ipv6)),
            (ends, ..) => found.push(BrokenLab::SerialEnds(ends), serial.span()),
        }
    }
}

/// The addresses that are taken, and by whom.
type Taken = BTreeMap<IpAddr, String>;

fn ports(
    entry: &NodeEntry,
    links: &[LinkSpec],
    index: usize,
    taken: &mut Taken,
    found: &mut Found<BrokenLab>,
) -> Vec<PortSpec> {
    let mut on: Vec<&LinkSpec> = Vec::new();
    match &entry.links {
        None => on.extend(links),
        Some(names) => {
            for name in names {
                let Some(link) = link(name, links, found) else {
                    continue;
                };
                match on.contains(&link) {
                    true => found.push(BrokenLab::LinkTwice(name.get().clone()), name.span()),
                    false => on.push(link),
                }
            }
        }
    }
    let mut given = BTreeMap::new();
    for (name, addresses) in &entry.addresses {
        let Some(link) = link(name, links, found) else {
            continue;
        };
        match on.contains(&link) {
            true => drop(given.insert(&link.name, addresses)),
            false => found.push(BrokenLab::NotOnLink(name.get().clone()), name.span()),
        }
    }
    let port = |link: &LinkSpec| {
        port(
            entry,
            link,
            index,
            given.get(&link.name).copied(),
            taken,
            found,
        )
    };
    on.into_iter().map(port).collect()
}

/// The link of this name.
fn link<'a>(
    name: &At<String>,
    links: &'a [LinkSpec],
    found: &mut Found<BrokenLab>,
) -> Option<&'a LinkSpec> {
    let link = links.iter().find(|it| it.name.as_str() == name.as_str());
    if link.is_none() {
        let problem = Problem::NoSuch {
            kind: "link",
            found: name.get().clone(),
            allowed: links.iter().map(|it| it.name.to_string()).collect(),
        };
        found.push(problem, name.span());
    }
    link
}

/// The node's port on a link, with the addresses that the file gives it there, else those of the node's number.
fn port(
    entry: &NodeEntry,
    link: &LinkSpec,
    index: usize,
    given: Option<&At<Addresses>>,
    taken: &mut Taken,
    found: &mut Found<BrokenLab>,
) -> PortSpec {
    let mut port = PortSpec {
        link: link.name.clone(),
        ipv4: link.ipv4.and_then(|net| nth_ipv4(net, index)),
        ipv6: link.ipv6.and_then(|net| nth_ipv6(net, index)),
    };
    let span = given.map_or(entry.name.span(), At::span);
    let networks = [link.ipv4.map(IpNet::V4), link.ipv6.map(IpNet::V6)];
    let networks = networks.into_iter().flatten().map(|net| net.to_string());
    let networks: Vec<String> = networks.collect();
    for &address in given.into_iter().flat_map(|it| it.all()) {
        let is_inside = match address {
            IpAddr::V4(it) => link.ipv4.is_some_and(|net| net.contains(&it)),
            IpAddr::V6(it) => link.ipv6.is_some_and(|net| net.contains(&it)),
        };
        match address {
            // What is wrong with a null-modem cable without a network is told of the link.
            _ if !is_inside && networks.is_empty() => {}
            _ if !is_inside => {
                let (networks, link) = (networks.join(" or "), link.name.to_string());
                let broken = BrokenLab::Outside {
                    address,
                    networks,
                    link,
                };
                found.push(broken, span.clone());
            }
            IpAddr::V4(it) => port.ipv4 = Some(it),
            IpAddr::V6(it) => port.ipv6 = Some(it),
        }
    }
    if let (Some(network), None) = (link.ipv4, port.ipv4) {
        let broken = BrokenLab::NoAddressLeft {
            network: network.into(),
            link: link.name.to_string(),
            number: index + 1,
        };
        found.push(broken, entry.name.span());
    }
    let both = [port.ipv4.map(IpAddr::V4), port.ipv6.map(IpAddr::V6)];
    for address in both.into_iter().flatten() {
        if let Some(other) = taken.insert(address, entry.name.get().clone()) {
            let link = link.name.to_string();
            found.push(
                BrokenLab::AddressTaken {
                    address,
                    link,
                    other,
                },
                span.clone(),
            );
        }
    }
    port
}
