//! Which interface of each head is its port to each SAN.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

use hawser_model::cluster_file::{ClusterFile, LinkEntry, NodeEntry, Role};
use hawser_model::names::HostName;

use super::facts::PortFacts;
use crate::cib::services::primitive;
use crate::cib::{Ports, watcher_id};
use crate::simulate::parameter;
use crate::xml::Element;

/// A port that cannot be watched, so that nothing moves when it has lost its carrier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unwatched {
    /// The head.
    pub node: String,
    /// The SAN.
    pub link: String,
    /// Why.
    pub why: String,
}

impl fmt::Display for Unwatched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { node, link, why } = self;
        write!(
            f,
            "the port of {node} to {link} is not watched, and pools stay when it loses its carrier: {why}"
        )
    }
}

/// The interface that has each address of a head.
pub type HeadPorts = BTreeMap<IpAddr, PortFacts>;

/// The ports that are watched, and those that cannot be. A head of which nothing is known has none. One without its address now keeps what the live CIB
/// says: systemd-networkd and NetworkManager take the address off a port that has lost its carrier.
pub fn watched<'a>(
    file: &ClusterFile,
    ports_of: impl Fn(&HostName) -> Option<&'a HeadPorts>,
    live: &Element,
) -> (Ports, Vec<Unwatched>) {
    let (mut ports, mut unwatched) = (Ports::default(), Vec::new());
    for link in file.links_with(Role::San) {
        let used = |name: &str| name == link.name.as_str();
        let mut pools = file.pools.iter();
        if !pools.any(|pool| pool.addresses.keys().any(|name| used(name.as_str()))) {
            continue;
        }
        for node in &file.nodes {
            let Some(there) = ports_of(node.name.get()) else {
                continue;
            };
            let key = (node.name.get().clone(), link.name.get().clone());
            let found = port(file, node, link, there);
            let why = match found {
                Some(PortFacts {
                    blind: None,
                    interface,
                }) => {
                    ports.0.insert(key, interface.clone());
                    continue;
                }
                Some(PortFacts {
                    blind: Some(why),
                    interface,
                }) => format!("{interface}: {why}"),
                None => match in_cib(live, node.name.as_str(), link.name.as_str()) {
                    Some(interface) => {
                        ports.0.insert(key, interface);
                        continue;
                    }
                    None => "no interface of it has an address there".into(),
                },
            };
            unwatched.push(Unwatched {
                node: node.name.to_string(),
                link: link.name.to_string(),
                why,
            });
        }
    }
    (ports, unwatched)
}

/// The interface that has the head's address on the link; else one with another address of the link's network.
fn port<'a>(
    file: &ClusterFile,
    node: &NodeEntry,
    link: &LinkEntry,
    ports: &'a HeadPorts,
) -> Option<&'a PortFacts> {
    let own = node.address_on(link.name.as_str());
    if let Some(port) = own.and_then(|address| ports.get(address.get())) {
        return Some(port);
    }
    let network = file.link(link.name.as_str())?.network.as_ref()?.0;
    let mut there = ports.iter();
    there
        .find(|(address, _)| network.contains(*address))
        .map(|(_, port)| port)
}

/// The interface that the live CIB has watched.
fn in_cib(live: &Element, node: &str, link: &str) -> Option<String> {
    let watcher = primitive(live, &watcher_id(node, link))?;
    parameter(watcher, "iface").map(str::to_owned)
}
