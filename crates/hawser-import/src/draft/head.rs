//! What a head shows, and what the administrator said beside it.

use std::collections::BTreeMap;
use std::net::IpAddr;

use hawser_model::surroundings::Surroundings;
use hawser_model::units::{BitsPerSec, Mtu};
use serde::{Deserialize, Serialize};

use crate::corosync;
use crate::page::Page;
use crate::picture::Picture;
use crate::source::{Kind, Source};

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
    /// Its corosync.conf.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub corosync_conf: Option<String>,
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

impl Head {
    /// Whether it is in a cluster already. Debian's package comes with a corosync.conf of one node on loopback.
    pub(super) fn in_cluster(&self) -> bool {
        let Some(text) = &self.corosync_conf else {
            return false;
        };
        let source = Source {
            path: "corosync.conf".to_owned(),
            text: text.clone(),
            kind: Kind::CorosyncConf,
            node: None,
        };
        let mut picture = Picture::default();
        let read = corosync::read(&source, &mut picture, &mut Page::default());
        let addresses = picture
            .nodes
            .iter()
            .flat_map(|node| node.addresses.values());
        // What cannot be read is somebody's work too.
        read.is_err()
            || picture.nodes.len() > 1
            || addresses.into_iter().any(|said| !said.value.is_loopback())
    }
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
