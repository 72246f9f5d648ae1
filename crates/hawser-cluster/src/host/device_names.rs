//! The other names of a block device: udev's, device-mapper's and LVM's, and of a disk the devices that lie on it.
//! A name that udev has made no link for, since the volume is not active here, is followed by what LVM has written down.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::boot::{below, names, read};
use crate::plan::boot::read::lvm_identities;

/// Folders with other names of block devices.
const BY: [&str; 6] = ["id", "label", "partlabel", "partuuid", "path", "uuid"];

/// Where LVM writes down each group that it has seen (vgcfgbackup(8)).
const GROUPS: &str = "/etc/lvm/backup";

/// udev's link to a device-mapper device by its name (13-dm-disk.rules).
const BY_DM_NAME: &str = "/dev/disk/by-id/dm-name-";

/// The names that were found on a head.
pub(super) struct DeviceNames {
    /// The kernel's name of the device behind each name.
    links: BTreeMap<String, String>,
    /// The devices that lie on a device, by the kernel's names.
    above: BTreeMap<String, BTreeSet<String>>,
    /// What lies behind names that LVM makes of its identities.
    groups: BTreeMap<String, String>,
}

impl DeviceNames {
    /// Reads them below `root`.
    pub fn look(root: &Path) -> Self {
        let mut links = BTreeMap::new();
        let mut add = |folder: &str, all: bool| {
            for name in names(&below(root, folder)) {
                let link = fs::read_link(below(root, folder).join(&name)).ok();
                let device = link.as_deref().and_then(Path::file_name);
                let device = device.and_then(|device| device.to_str());
                if let Some(device) = device.filter(|device| all || device.starts_with("dm-")) {
                    links.insert(format!("{folder}/{name}"), device.to_owned());
                }
            }
        };
        for by in BY {
            add(&format!("/dev/disk/by-{by}"), true);
        }
        // `/dev/mapper`, and a folder for each volume group.
        for folder in names(&below(root, "/dev")) {
            add(&format!("/dev/{folder}"), false);
        }
        let mut above: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for device in names(&below(root, "/sys/class/block")) {
            let folder = format!("/sys/class/block/{device}");
            let name = read(&below(root, &format!("{folder}/dm/name")));
            if let Some(name) = name.and_then(|name| String::from_utf8(name).ok()) {
                links.insert(format!("/dev/mapper/{}", name.trim()), device.clone());
            }
            let holders = names(&below(root, &format!("{folder}/holders")));
            above.entry(device).or_default().extend(holders);
        }
        let mut groups = BTreeMap::new();
        for group in names(&below(root, GROUPS)) {
            let text = read(&below(root, GROUPS).join(group)).unwrap_or_default();
            groups.extend(lvm_identities(&String::from_utf8_lossy(&text)));
        }
        Self {
            links,
            above,
            groups,
        }
    }

    /// The other names of a device as it stands in a file: a path, or fstab's `UUID=…` and its like.
    pub fn of(&self, written: &str) -> BTreeSet<String> {
        let path = match written.split_once('=') {
            Some((tag, value)) if !tag.contains('/') => {
                let value = value.trim_matches('"');
                format!("/dev/disk/by-{}/{value}", tag.to_ascii_lowercase())
            }
            _ => written.to_owned(),
        };
        let mut others: BTreeSet<String> = self.groups.get(&path).cloned().into_iter().collect();
        if let Some(name) = path.strip_prefix(BY_DM_NAME) {
            others.insert(format!("/dev/mapper/{name}"));
        }
        let direct = path
            .strip_prefix("/dev/")
            .filter(|name| !name.contains('/'));
        let device = self.links.get(&path).cloned();
        let Some(device) = device.or(direct.map(str::to_owned)) else {
            return others;
        };
        let mut devices = BTreeSet::new();
        let mut left = vec![device];
        while let Some(device) = left.pop() {
            if devices.insert(device.clone()) {
                left.extend(self.above.get(&device).into_iter().flatten().cloned());
            }
        }
        let same = self.links.iter().filter(|(_, of)| devices.contains(*of));
        others.extend(same.map(|(name, _)| name.clone()));
        others.extend(devices.iter().map(|device| format!("/dev/{device}")));
        others
    }
}
