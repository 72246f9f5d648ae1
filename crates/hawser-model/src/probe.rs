//! Probes that are not flows: path MTU and layer-2 hellos.

use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::names::{HostName, LinkName};
use crate::units::Mtu;

/// What an echo-confirmed search with the don't-fragment bit found on a directed path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PathMtu {
    /// Sender's address.
    pub source: IpAddr,
    /// Receiver's address.
    pub destination: IpAddr,
    /// The sending interface's own MTU.
    pub interface_mtu: Mtu,
    /// Largest IP packet that was seen to arrive; absent when not even the smallest did.
    pub passed: Option<Mtu>,
    /// Smallest IP packet that was tried and never arrived, though the kernel took it.
    pub silent: Option<Mtu>,
    /// What the kernel or a router said the path allows (`IP_MTU`, from ICMP), when it did.
    pub told: Option<Mtu>,
}

/// A layer-2 hello heard: broadcast frames with the run key, local experimental ethertype
/// 0x88B5 (IEEE 802), never routed, sent once per link at the start of a check.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct HelloHeard {
    /// Who sent it.
    pub from: HostName,
    /// Out of which of its links.
    pub from_link: LinkName,
    /// Who heard it.
    pub by: HostName,
    /// On which of its links.
    pub on_link: LinkName,
    /// How many copies of the same frame arrived: more than one is a duplicated path.
    pub copies: u32,
}
