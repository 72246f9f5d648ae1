//! What a head would do by itself at its next boot, as its files say: read by the agent, judged elsewhere.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::zpool_cache::Cached;

/// What was found on one head.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BootFacts {
    /// `/etc/hostid`, or what the module `spl` was told; none: there is neither, and ZFS takes 0.
    pub hostid: Option<u32>,
    /// Units among those looked for that systemd starts at boot.
    pub enabled: BTreeSet<String>,
    /// ZFS's cache files and the pools that each names.
    pub zfs_caches: BTreeMap<String, Cached>,
    /// The files of saved targets of LIO, and the devices of the objects in each; none: it cannot be read.
    pub saved_targets: BTreeMap<String, Option<Vec<String>>>,
    /// The files of tgtd's targets, and the stores that each offers. Nothing else is read of them: there are
    /// passwords in both.
    pub stores: BTreeMap<String, Vec<String>>,
    /// The other names of these objects and stores, and of what lies on them.
    #[serde(default)]
    pub aliases: BTreeMap<String, BTreeSet<String>>,
    /// The files of NFS exports, and the directories in each.
    pub exported: BTreeMap<String, Vec<String>>,
    /// What fstab mounts at boot.
    pub mounts: Vec<Mount>,
    /// LVM's `system_id_source`, where a file sets it.
    pub system_id_source: Option<String>,
}

/// A line of fstab(5) that is mounted at boot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    /// What is mounted, as it stands there.
    pub device: String,
    /// The device's other names.
    pub aliases: BTreeSet<String>,
    /// Where it is mounted.
    pub place: String,
}
