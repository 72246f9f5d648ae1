//! What is around a machine that is to be a head of a cluster: how it is reached, who is at the other end of its
//! cables, which disks it sees and what lies on them, who can cut its power.

use serde::{Deserialize, Serialize};

use crate::names::InterfaceName;

/// What is around a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Surroundings {
    /// The kernel's name for its boot: machines that have the same one are one machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boot: Option<String>,
    /// The address by which ssh reached it (`SSH_CONNECTION`, ssh(1)), as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reached_at: Option<String>,
    /// The interfaces of its default routes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub default_routes: Vec<InterfaceName>,
    /// Whom it hears by LLDP; absent if nobody could look, as of what follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub neighbours: Option<Vec<Neighbour>>,
    /// Its disks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disks: Option<Vec<Disk>>,
    /// The volume groups that it sees.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups: Option<Vec<VolumeGroup>>,
    /// Its management controller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bmc: Option<BmcFacts>,
    /// Why nobody could look.
    pub unseen: Unseen,
}

/// Why nobody could look for something; empty if somebody did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Unseen {
    /// For neighbours.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub neighbours: String,
    /// For disks.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub disks: String,
    /// For volume groups.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub groups: String,
    /// For a management controller.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub bmc: String,
}

/// Who says by LLDP that it is at the other end of a cable (IEEE 802.1AB).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Neighbour {
    /// The interface on which it is heard.
    pub interface: String,
    /// Its system name.
    pub system: String,
    /// Its port.
    pub port: String,
}

/// A disk, or a multipath device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Disk {
    /// The kernel's name: `sda`, `dm-3`.
    pub name: String,
    /// In bytes.
    pub size: u64,
    /// As the kernel or udev has it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// Its serial number.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub serial: String,
    /// Its name for the whole world: NAA, EUI or the like.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub wwn: String,
    /// How it is connected: `sas`, `fc`, `nvme`, `usb`, …
    #[serde(skip_serializing_if = "String::is_empty")]
    pub transport: String,
    /// Its names in `/dev/disk/by-id`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<String>,
    /// Where something of it is mounted; `[SWAP]` if it swaps there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mounts: Vec<String>,
    /// What is on it and on its partitions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub contents: Vec<Content>,
}

/// What is on a disk or on a partition of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Content {
    /// The kernel's name of the disk or partition.
    pub on: String,
    /// In libblkid's word: `ext4`, `zfs_member`, `LVM2_member`, …; `partition` for one in which it recognises nothing.
    pub kind: String,
    /// Its identity; of a ZFS pool, the pool's number.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uuid: String,
    /// Its label; of a ZFS pool, the pool's name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub label: String,
}

/// A volume group of LVM.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct VolumeGroup {
    /// Its name.
    pub name: String,
    /// Its identity.
    pub uuid: String,
    /// The devices that it is made of, by the kernel's names.
    pub on: Vec<String>,
}

/// A management controller, as its own machine sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BmcFacts {
    /// Its address; `0.0.0.0` if it has none.
    pub address: String,
    /// The cipher suites that it speaks.
    pub ciphers: Vec<u8>,
    /// Its users that may switch the power, by name.
    pub users: Vec<String>,
}
