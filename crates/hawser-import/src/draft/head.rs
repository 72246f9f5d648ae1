//! What a head shows, and what the administrator said beside it.

use std::collections::BTreeMap;
use std::net::IpAddr;

use hawser_model::surroundings::Surroundings;
use hawser_model::units::{BitsPerSec, Mtu};
use serde::{Deserialize, Serialize};

/// What a head shows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Head {
    /// As it was named to reach it.
    pub name: String,
    /// The destination given to `ssh`; none in a lab.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssh: Option<String>,
    /// As it calls itself (`uname -n`).
    pub hostname: String,
    /// Its interfaces that are up, by name.
    pub ports: BTreeMap<String, Port>,
    /// Whose virtual machine it is (systemd-detect-virt(1)); `none` if it is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub virtualization: Option<String>,
    /// The ZFS pools that it has imported.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub zpools: Vec<String>,
    /// Whether it has a corosync.conf.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub in_cluster: bool,
    /// What is around it.
    pub around: Surroundings,
}

/// An interface.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Port {
    /// Its addresses, each with the length of its prefix.
    pub addresses: Vec<(IpAddr, u8)>,
    /// Whether it has a carrier.
    pub carrier: bool,
    /// Its MTU.
    pub mtu: Option<Mtu>,
    /// Its speed.
    pub speed: Option<BitsPerSec>,
    /// Its driver.
    pub driver: Option<String>,
    /// The interfaces below it.
    pub lower: Vec<String>,
}

/// What the administrator said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Wishes {
    /// The cluster's name.
    pub name: Option<String>,
    /// The links by which clients come: a link's name, or its network.
    pub sans: Vec<String>,
    /// The addresses of management controllers, by node.
    pub bmcs: BTreeMap<String, String>,
    /// The user that they know.
    pub bmc_user: Option<String>,
}

/// The folder of the files in which passwords are, on the machine that runs Hawser.
pub(super) const SECRETS: &str = "/etc/hawser/secrets";
