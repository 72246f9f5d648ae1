//! The cluster as the file, the command line or the lab describes it.

use std::collections::BTreeMap;
use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::names::{HostName, LinkName};
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
}

impl Topology {
    /// The node of that name.
    pub fn node(&self, name: &HostName) -> Option<&Node> {
        self.nodes.iter().find(|n| n.name == *name)
    }

    /// The link of that name.
    pub fn link(&self, name: &LinkName) -> Option<&Link> {
        self.links.iter().find(|l| l.name == *name)
    }
}
