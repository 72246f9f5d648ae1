//! The pools of the page.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::Light;
use crate::names::{HostName, LinkName};

/// A pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LivePool {
    /// Its name.
    pub name: String,
    /// How it is.
    pub light: Light,
    /// Where it is.
    pub on: PoolAt,
    /// How full it is, in percent; absent when its head did not say.
    pub used_percent: Option<u8>,
    /// Whether all of it is offered to its clients; absent when that is not known.
    pub offered: Option<bool>,
    /// What of it does not run or is not offered.
    pub missing: Vec<String>,
    /// What it stands on: the pool itself where ZFS tells of it, groups and devices, in that order. Empty: not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<LiveDevice>,
    /// What is being done with them, or is lost with them, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub about_devices: Vec<String>,
    /// Its addresses.
    pub addresses: Vec<LiveAddress>,
}

/// Where a pool is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PoolAt {
    /// On this head or another.
    Head(HostName),
    /// Nowhere.
    Nowhere,
    /// Not known here.
    NotKnown,
}

/// A device that a pool stands on, or a group of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveDevice {
    /// Its name.
    pub name: String,
    /// How many groups it stands in.
    pub depth: usize,
    /// How it is.
    pub light: Light,
    /// The same in words.
    pub words: String,
    /// The ways to it: disks as the kernel has them, where that is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<LivePath>,
}

/// A way to a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LivePath {
    /// The kernel's name of the disk.
    pub disk: String,
    /// How it is.
    pub light: Light,
    /// The same in words.
    pub words: String,
}

/// An address of a pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveAddress {
    /// The address.
    pub address: IpAddr,
    /// Its link.
    pub link: LinkName,
    /// Whether it is up where the pool is, as Pacemaker believes; absent when that is not known.
    pub up: Option<bool>,
}

impl LivePool {
    /// How it is, in words.
    pub fn words(&self) -> String {
        let mut all = match &self.on {
            PoolAt::NotKnown => vec!["where it is, is not known".to_owned()],
            PoolAt::Nowhere => vec!["runs nowhere".to_owned()],
            PoolAt::Head(_) => match self.offered {
                Some(true) => vec!["offered".to_owned()],
                Some(false) => vec!["not offered as it was started".to_owned()],
                None => vec!["runs".to_owned()],
            },
        };
        all.extend(self.used_percent.map(|used| format!("{used} % full")));
        all.join(", ")
    }
}

impl LiveAddress {
    /// How it is.
    pub fn light(&self) -> Light {
        match self.up {
            Some(true) => Light::Good,
            Some(false) => Light::Bad,
            None => Light::Unknown,
        }
    }

    /// How it is, in a word.
    pub fn word(&self) -> &'static str {
        match self.up {
            Some(true) => "up",
            Some(false) => "down",
            None => "not known",
        }
    }
}
