//! Names are unique, addresses are unique and inside their link's network, links join nodes.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::ops::Range;

use ipnet::IpNet;

use super::{Found, Problem};
use crate::cluster_file::{ClusterFile, Role, Roles};
use crate::toml_file::At;
use crate::units::counted;

/// What can be wrong with nodes, links and addresses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BrokenNetwork {
    /// Two things of one kind with one name.
    #[error("two {kind}s are named \"{name}\"")]
    NameTwice {
        /// `node`, `link`, `pool`, …
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// A name that Corosync, Pacemaker or a shell would trip over.
    #[error("\"{name}\" cannot be the name of a {kind}")]
    BadName {
        /// `node`, `link`, …
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// An address that is already given to something else.
    #[error("{address} is the address of both {first} and {second}")]
    AddressTwice {
        /// The address.
        address: IpAddr,
        /// Who has it first in the file.
        first: String,
        /// Who has it again.
        second: String,
    },
    /// An address that is not in its link's network.
    #[error("{address} of {owner} is outside {link}'s network {network}")]
    OutsideNetwork {
        /// The address.
        address: IpAddr,
        /// Whose it is.
        owner: String,
        /// The link.
        link: String,
        /// The link's network.
        network: IpNet,
    },
    /// The network's own or its broadcast address, which no host can have.
    #[error("{address} of {owner} is the {what} address of {network}")]
    NotAHost {
        /// The address.
        address: IpAddr,
        /// Whose it is.
        owner: String,
        /// `network` or `broadcast`.
        what: &'static str,
        /// The network.
        network: IpNet,
    },
    /// A link that joins nothing.
    #[error("{} on link \"{link}\"", who_is(.node))]
    LonelyLink {
        /// The link.
        link: String,
        /// The only node on it, if any.
        node: Option<String>,
    },
    /// A null-modem cable that is more than a heartbeat link of two nodes.
    #[error("link \"{link}\" is a null-modem cable, and {what}")]
    SerialLink {
        /// The link.
        link: String,
        /// What it is beside.
        what: String,
    },
    /// Fewer than two nodes.
    #[error("a cluster has at least two nodes, this file has {0}")]
    TooFewNodes(usize),
    /// Links share addresses.
    #[error("the networks of links \"{first}\" and \"{second}\" overlap: {a} and {b}")]
    NetworksOverlap {
        /// One link.
        first: String,
        /// The other.
        second: String,
        /// Its network.
        a: IpNet,
        /// The other's.
        b: IpNet,
    },
}

fn who_is(node: &Option<String>) -> String {
    match node {
        Some(name) => format!("only \"{name}\" has an address"),
        None => "no node has an address".into(),
    }
}

impl BrokenNetwork {
    /// What to do about it.
    pub fn help(&self) -> String {
        match self {
            Self::NameTwice { kind, .. } => format!("give each {kind} a name of its own"),
            Self::BadName { .. } => {
                "use letters, digits, \"-\", \"_\" and \".\", beginning with a letter or digit"
                    .into()
            }
            Self::AddressTwice { .. } => "an address belongs to one thing alone".into(),
            Self::OutsideNetwork { .. } => "correct the address, or the link's network".into(),
            Self::NotAHost { .. } => "take an address between the two ends of the network".into(),
            Self::LonelyLink { .. } => {
                "a link joins at least two nodes: add the others' addresses, or remove the link"
                    .into()
            }
            Self::SerialLink { .. } => {
                "a null-modem cable is a heartbeat link between two nodes".into()
            }
            Self::TooFewNodes(_) => "add a [[node]] for each".into(),
            Self::NetworksOverlap { .. } => {
                "links are separate networks, or the kernel sends one's packets over the other"
                    .into()
            }
        }
    }
}

impl From<BrokenNetwork> for Problem {
    fn from(broken: BrokenNetwork) -> Self {
        Self::Rule(broken.into())
    }
}

/// Addresses given out so far: whose each is, and where that stands.
#[derive(Default)]
pub(in crate::cluster_file) struct Given(BTreeMap<IpAddr, (String, Range<usize>)>);

impl Given {
    /// Notes that `owner` has `address`, or says who had it before.
    pub(in crate::cluster_file) fn take(
        &mut self,
        address: &At<IpAddr>,
        owner: String,
        found: &mut Found,
    ) {
        match self.0.get(address.get()) {
            Some((first, span)) => {
                let broken = BrokenNetwork::AddressTwice {
                    address: **address,
                    first: first.clone(),
                    second: owner,
                };
                found.push_with(broken, address.span(), span.clone());
            }
            None => {
                self.0.insert(**address, (owner, address.span()));
            }
        }
    }
}

/// Is `address` one that a host on the link of this name can have?
pub(in crate::cluster_file) fn inside(
    file: &ClusterFile,
    link: &str,
    address: &At<IpAddr>,
    owner: &str,
    found: &mut Found,
) {
    let Some(network) = file.link(link).and_then(|l| l.network.as_ref()) else {
        return;
    };
    let (network, owner, address_) = (network.0, owner.to_owned(), **address);
    if !network.contains(address.get()) {
        let link = link.to_owned();
        let broken = BrokenNetwork::OutsideNetwork {
            address: address_,
            owner,
            link,
            network,
        };
        return found.push(broken, address.span());
    }
    // A /31 or /127 joins exactly two hosts and has neither (RFC 3021, RFC 6164).
    let point_to_point = network.prefix_len() + 1 >= network.max_prefix_len();
    let what = match address_ {
        a if point_to_point || (a != network.network() && a != network.broadcast()) => return,
        a if a == network.network() => "network",
        IpAddr::V4(_) => "broadcast",
        IpAddr::V6(_) => return,
    };
    let broken = BrokenNetwork::NotAHost {
        address: address_,
        owner,
        what,
        network,
    };
    found.push(broken, address.span());
}

/// Checks that names of one kind are usable and unique.
pub(in crate::cluster_file) fn names<'a>(
    kind: &'static str,
    names: impl Iterator<Item = (&'a str, Range<usize>)>,
    found: &mut Found,
) {
    let mut seen = BTreeMap::new();
    for (name, span) in names {
        if !usable(kind, name, span.clone(), found) {
            continue;
        }
        if let Some(first) = seen.get(name) {
            let name = name.to_owned();
            let broken = BrokenNetwork::NameTwice { kind, name };
            found.push_with(broken, span, Range::clone(first));
        } else {
            seen.insert(name, span);
        }
    }
}

/// Checks that a name is usable.
pub(super) fn usable(
    kind: &'static str,
    name: &str,
    span: Range<usize>,
    found: &mut Found,
) -> bool {
    let fine = name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    if !fine {
        let name = name.to_owned();
        found.push(BrokenNetwork::BadName { kind, name }, span);
    }
    fine
}

pub(super) fn check(file: &ClusterFile, given: &mut Given, found: &mut Found) {
    names(
        "node",
        file.nodes.iter().map(|n| (n.name.as_str(), n.name.span())),
        found,
    );
    names(
        "link",
        file.links.iter().map(|l| (l.name.as_str(), l.name.span())),
        found,
    );
    if file.nodes.len() < 2 {
        let span = file.nodes.first().map_or(0..0, |n| n.name.span());
        found.push(BrokenNetwork::TooFewNodes(file.nodes.len()), span);
    }
    node_addresses(file, given, found);
    lonely_links(file, found);
    serial(file, found);
    overlaps(file, found);
}

fn node_addresses(file: &ClusterFile, given: &mut Given, found: &mut Found) {
    for node in &file.nodes {
        for (link, address) in &node.addresses {
            if file.link(link.as_str()).is_none() {
                let problem = Problem::NoSuch {
                    kind: "link",
                    found: link.to_string(),
                    allowed: file.links.iter().map(|l| l.name.to_string()).collect(),
                };
                found.push(problem, link.span());
                continue;
            }
            inside(file, link.as_str(), address, node.name.as_str(), found);
            given.take(address, format!("{} on {link}", node.name), found);
        }
    }
}

/// Links on which the file gives addresses to fewer than two nodes. A file without any addresses
/// leaves them to be read from the nodes and is not wrong, nor is a SAN's network without any.
fn lonely_links(file: &ClusterFile, found: &mut Found) {
    if file.nodes.len() < 2 || file.nodes.iter().all(|node| node.addresses.is_empty()) {
        return;
    }
    for link in &file.links {
        let mut there = file
            .nodes
            .iter()
            .filter(|node| node.address_on(link.name.as_str()).is_some());
        let first = there.next();
        // Of a link of clients the network is enough: which port is on it is read from the node.
        let by_network = !link.role.has(Role::Heartbeat) && link.network.is_some();
        if first.is_none() && by_network {
            continue;
        }
        if there.next().is_none() {
            let broken = BrokenNetwork::LonelyLink {
                link: link.name.to_string(),
                node: first.map(|node| node.name.to_string()),
            };
            found.push(broken, link.name.span());
        }
    }
}

/// Two ends are all that a null-modem cable has, and it is slow.
fn serial(file: &ClusterFile, found: &mut Found) {
    for link in file.links.iter().filter(|link| link.is_serial()) {
        let nodes = file.nodes.iter();
        let there = nodes.filter(|node| node.address_on(link.name.as_str()).is_some());
        let what = match there.count() {
            2 if link.role == Roles::One(Role::Heartbeat) => continue,
            2 => "carries more than heartbeat".to_owned(),
            count => format!("has {}", counted(count as u64, "node")),
        };
        let place = link.serial.as_ref().map_or(link.name.span(), At::span);
        let link = link.name.to_string();
        found.push(BrokenNetwork::SerialLink { link, what }, place);
    }
}

fn overlaps(file: &ClusterFile, found: &mut Found) {
    let networks: Vec<_> = file
        .links
        .iter()
        .filter_map(|link| Some((link.name.as_str(), link.network.as_ref()?)))
        .collect();
    for (i, (second, b)) in networks.iter().enumerate() {
        for (first, a) in &networks[..i] {
            if a.0.contains(&b.0) || b.0.contains(&a.0) {
                let broken = BrokenNetwork::NetworksOverlap {
                    first: (*first).to_owned(),
                    second: (*second).to_owned(),
                    a: a.0,
                    b: b.0,
                };
                found.push_with(broken, b.span(), a.span());
            }
        }
    }
}
