//! What stands below the pools of a host: its SCSI disks, the paths of its multipath devices, its ZFS pools.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The disks of a host, and what is made of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct StorageFacts {
    /// SCSI disks, by the kernel's name (`sda`).
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub disks: BTreeMap<String, DiskFacts>,
    /// Multipath devices, by the identity of the disk behind their paths (`dm/uuid` without `mpath-`).
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub multipath: BTreeMap<String, MultipathFacts>,
    /// Imported ZFS pools, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub zpools: BTreeMap<String, ZpoolFacts>,
}

/// What a look of a moment, without a program, tells of the same: whether it is worth a longer one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StoragePulse {
    /// How many SCSI disks and imported ZFS pools there are.
    pub there: usize,
    /// How many of them are pools.
    pub zpools: usize,
    /// How many events ZFS has told that may have changed how well a pool is.
    pub events: u64,
    /// Those of them that are not well, with their state: a disk that does not run, a pool that is not `ONLINE`.
    pub unwell: BTreeMap<String, String>,
}

/// A SCSI disk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DiskFacts {
    /// What the kernel does with it (`device/state`): `running`, `offline`, `blocked`, `transport-offline`, …
    pub state: String,
    /// Host, channel, target and unit: `2:0:1:0`.
    pub address: String,
    /// Its name in the world, as the kernel took it from the disk (`device/wwid`): `naa.5000c500a1b2c3d4`; absent: it told none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wwid: Option<String>,
    /// Where it is in a shelf, as the kernel's driver for enclosures tells it; absent: it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shelf: Option<ShelfSlot>,
}

/// A place in a shelf of disks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShelfSlot {
    /// The shelf, by its own identity (`/sys/class/enclosure/H:C:T:L/id`).
    pub shelf: String,
    /// The slot, as the shelf calls it.
    pub slot: String,
}

/// A multipath device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MultipathFacts {
    /// Its name (`mpatha`).
    pub name: String,
    /// Its paths, by the kernel's name of the disk.
    pub paths: BTreeMap<String, PathFacts>,
}

/// A path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PathFacts {
    /// What device-mapper does with it, in multipathd's word (`%t`): `active`, `failed`; absent: multipathd did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<String>,
    /// What multipathd's checker found (`%T`): `ready`, `ghost`, `faulty`, …; absent: multipathd did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked: Option<String>,
}

/// A ZFS pool that is imported.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ZpoolFacts {
    /// Its state: `ONLINE`, `DEGRADED`, `SUSPENDED`, …
    pub state: String,
    /// What `zpool status` says of a scrub or a resilver, in its words; absent if none was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scan: Option<String>,
    /// All of its devices as they stand below each other, in the order of `zpool status`; empty: it did not say.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<ZpoolMember>,
    /// The devices that are not well: another state than that of a healthy one, or errors. In the order of `zpool status`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub troubled: Vec<ZpoolDevice>,
    /// What it says of errors in data, if it knows some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errors: Option<String>,
}

/// A group of devices of a ZFS pool, or one device, in its place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ZpoolMember {
    /// Its name in the pool: `mirror-0`, `wwn-0x5000c500a1b2c3d4`.
    pub name: String,
    /// How many groups it stands in: 0 right below the pool.
    pub depth: usize,
    /// Its state.
    pub state: String,
    /// It holds none of the pool's data: a log, a cache or a spare.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub beside: bool,
}

/// A device of a ZFS pool that is not well.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ZpoolDevice {
    /// Its name in the pool.
    pub name: String,
    /// Its state.
    pub state: String,
    /// Reads that failed.
    pub read_errors: u64,
    /// Writes that failed.
    pub write_errors: u64,
    /// Blocks that were not what they should be.
    pub checksum_errors: u64,
    /// Reads and writes that took longer than `zio_slow_io_ms` (30 s; zfs(4)), and ended.
    #[serde(default, skip_serializing_if = "is_none_of_them")]
    pub slow: u64,
}

fn is_none_of_them(count: &u64) -> bool {
    *count == 0
}

impl StorageFacts {
    /// Whether there is none of all this.
    pub fn is_empty(&self) -> bool {
        self.disks.is_empty() && self.multipath.is_empty() && self.zpools.is_empty()
    }
}

impl PathFacts {
    /// Whether multipathd has said something of it.
    pub fn is_told(&self) -> bool {
        self.used.is_some() || self.checked.is_some()
    }

    /// Whether input and output can go by it, as far as multipathd has said. A ghost path answers and takes none until its
    /// controller takes over, which is how such an array works.
    pub fn is_well(&self) -> bool {
        let used = self.used.as_deref().is_none_or(|word| word != "failed");
        let well = |word: &str| matches!(word, "ready" | "ghost" | "undef" | "i/o pending");
        used && self.checked.as_deref().is_none_or(well)
    }
}
