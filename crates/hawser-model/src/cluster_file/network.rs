//! Nodes and the links between them.

use std::collections::BTreeMap;
use std::net::IpAddr;

use schemars::JsonSchema;
use serde::Deserialize;

use super::fencing::Bmc;
use crate::names::{HostName, LinkName};
use crate::toml_file::At;
use crate::toml_file::{Network, Speed};
use crate::units::Mtu;

/// A node of the cluster.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Node")]
pub struct NodeEntry {
    /// Its name: what `uname -n` says there.
    pub name: At<HostName>,
    /// The destination given to `ssh`; an alias of `~/.ssh/config` is fine. Default: the name.
    pub ssh: Option<String>,
    /// Its address on each link it is on. Left out: read from the node, by the links' networks.
    #[serde(default)]
    pub addresses: BTreeMap<At<LinkName>, At<IpAddr>>,
    /// Corosync's number of the node. Default: its place in the file, or what it already has.
    #[schemars(range(min = 1))]
    pub id: Option<At<u32>>,
    /// Its management controller, which can cut its power.
    pub bmc: Option<At<Bmc>>,
}

/// A network that joins the nodes.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Link")]
pub struct LinkEntry {
    /// Its name.
    pub name: At<LinkName>,
    /// What it carries, one word or a list. Default: `heartbeat`.
    #[serde(default)]
    pub role: Roles,
    /// The network of its addresses: `10.0.1.0/24`.
    pub network: Option<At<Network>>,
    /// The MTU every port of it should have, in bytes.
    #[schemars(extend("minimum" = 576, "maximum" = 65_535))]
    pub mtu: Option<Mtu>,
    /// The speed every port of it should have: `10Gbit/s`.
    pub speed: Option<Speed>,
    /// The switch it runs over. Links that must not fail together are on different switches.
    pub switch: Option<String>,
    /// heartbeat: of the links that are up, the one of the highest priority carries the messages.
    /// Default: 1 for all.
    #[schemars(range(min = 0, max = 255))]
    pub priority: Option<u8>,
    /// heartbeat: the UDP port that Corosync has on it, on every node. Default: 5405 for the first heartbeat link, 5406
    /// for the second, and so on.
    #[schemars(range(min = 1))]
    pub port: Option<At<u16>>,
    /// It is a null-modem cable between two nodes, over which they speak PPP. Default: false.
    pub serial: Option<At<bool>>,
}

impl LinkEntry {
    /// Whether it is a null-modem cable.
    pub fn is_serial(&self) -> bool {
        self.serial.as_ref().is_some_and(|serial| **serial)
    }
}

/// The UDP port of Corosync's first link; each further one has the next (`DEFAULT_PORT` of Corosync's `totemconfig.c`, plus
/// the link's number).
pub const FIRST_PORT: u16 = 5405;

/// What a link carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Corosync's own traffic.
    Heartbeat,
    /// Clients reach the storage over it; pools have addresses there.
    San,
    /// Data copied between the nodes (DRBD, ZFS send).
    Replication,
}

/// One role or a list of them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Roles {
    /// `role = "san"`.
    One(Role),
    /// `role = ["san", "heartbeat"]`.
    Several(Vec<Role>),
}

impl Default for Roles {
    fn default() -> Self {
        Self::One(Role::Heartbeat)
    }
}

impl Roles {
    /// True when the link carries this.
    pub fn has(&self, role: Role) -> bool {
        match self {
            Self::One(one) => *one == role,
            Self::Several(several) => several.contains(&role),
        }
    }
}

/// Whether an interface of Linux can have this name (`dev_valid_name` of the kernel), and an agent's parameter hold it.
pub fn is_interface_name(name: &str) -> bool {
    let odd = |c: char| c.is_whitespace() || c.is_control() || "/:".contains(c);
    !name.is_empty() && name.len() <= 15 && ![".", ".."].contains(&name) && !name.chars().any(odd)
}

/// The resource that watches a head's port to a SAN.
pub fn watcher_id(node: &str, link: &str) -> String {
    format!("watch-{node}-{link}")
}

impl NodeEntry {
    /// Its address on the link of that name.
    pub fn address_on(&self, link: &str) -> Option<&At<IpAddr>> {
        self.addresses
            .iter()
            .find(|(name, _)| name.as_str() == link)
            .map(|(_, address)| address)
    }
}
