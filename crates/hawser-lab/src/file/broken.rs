//! What can be wrong with a lab file, and what to do about it.

use std::net::IpAddr;

use hawser_model::toml_file::{Problem, Rule};
use hawser_model::units::counted;
use ipnet::IpNet;

/// A broken rule of a lab file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BrokenLab {
    /// A lab without nodes.
    #[error("there is no [[node]]")]
    NoNode,
    /// A lab without links.
    #[error("there is no [[link]]")]
    NoLink,
    /// More than a lab can have.
    #[error("there are more than {most} {what}")]
    TooMany {
        /// `links`, …
        what: &'static str,
        /// As many as there can be.
        most: usize,
    },
    /// Two things with one name.
    #[error("\"{0}\" is the name of something else already")]
    NameTaken(String),
    /// A link names no switch, and the name of the one that would be its own is taken.
    #[error(
        "the link names no switch, and \"{0}\", which would be its own, is the name of something else"
    )]
    SwitchTaken(String),
    /// A network that holds another one.
    #[error("{key}: {ours} overlaps {theirs} of link {other}")]
    Overlap {
        /// `ipv4` or `ipv6`.
        key: &'static str,
        /// The network.
        ours: IpNet,
        /// The other one.
        theirs: IpNet,
        /// The link that has it.
        other: String,
    },
    /// A link that nobody could speak over.
    #[error("the link has neither IPv4 nor IPv6")]
    NoNetwork,
    /// A null-modem cable whose ends are not two.
    #[error("serial: the link has {}", counted(*.0 as u64, "node"))]
    SerialEnds(usize),
    /// A null-modem cable without a network of IPv4.
    #[error("ipv4: a null-modem cable has a network of IPv4")]
    SerialNeedsIpv4,
    /// A null-modem cable with a network of IPv6.
    #[error("ipv6: a null-modem cable has none")]
    SerialHasIpv6,
    /// A node that is on a link twice.
    #[error("links: \"{0}\" stands there twice")]
    LinkTwice(String),
    /// An address on a link that the node is not on.
    #[error("addresses: the node is not on link \"{0}\"")]
    NotOnLink(String),
    /// An address of another network.
    #[error("addresses: {address} is not in {networks}, as link \"{link}\" is")]
    Outside {
        /// The address.
        address: IpAddr,
        /// The networks of the link.
        networks: String,
        /// The link.
        link: String,
    },
    /// A network that is too small.
    #[error("{network} of link \"{link}\" has no address left for node {number} of the file")]
    NoAddressLeft {
        /// The network.
        network: IpNet,
        /// The link that has it.
        link: String,
        /// The node's number in the file, from 1.
        number: usize,
    },
    /// An address that two nodes have.
    #[error("{address} on link \"{link}\" is the address of {other} already")]
    AddressTaken {
        /// The address.
        address: IpAddr,
        /// The link.
        link: String,
        /// The node that has it.
        other: String,
    },
}

impl Rule for BrokenLab {
    fn help(&self) -> String {
        match self {
            Self::NoNode => "write at least one [[node]] with a name".into(),
            Self::NoLink => "write at least one [[link]] with a name".into(),
            Self::TooMany { what, most } => format!("a lab has {most} {what} at most"),
            Self::NameTaken(_) => {
                "give switches, links, nodes and clients each a name of its own".into()
            }
            Self::SwitchTaken(_) => "name a declared switch: switch = \"…\"".into(),
            Self::Overlap { .. } => "give each link a network of its own".into(),
            Self::NoNetwork => "leave out ipv4 or ipv6, and the link has one of its own".into(),
            Self::SerialEnds(_) => {
                "a null-modem cable has two ends: put two nodes on the link".into()
            }
            Self::SerialNeedsIpv4 => "leave out ipv4, or write a network".into(),
            Self::SerialHasIpv6 => "leave out ipv6, or write \"none\"".into(),
            Self::LinkTwice(_) => "name each link once".into(),
            Self::NotOnLink(_) => {
                "name the link under `links` too, or leave out the address".into()
            }
            Self::Outside { networks, .. } => format!("write an address in {networks}"),
            Self::NoAddressLeft { .. } => "write a larger network, or the node's address".into(),
            Self::AddressTaken { .. } => "give each node an address of its own".into(),
        }
    }
}

impl From<BrokenLab> for Problem<BrokenLab> {
    fn from(broken: BrokenLab) -> Self {
        Self::Rule(broken)
    }
}
