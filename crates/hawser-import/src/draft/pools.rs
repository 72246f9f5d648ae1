//! What lies on the disks that heads share.

use std::collections::{BTreeMap, BTreeSet};

use super::disks::Shared;
use super::{Head, Remarks, Said};
use crate::picture::usable_resource;
use crate::place::quoted;

/// What could be a pool.
pub(super) enum Found {
    /// A ZFS pool, which says its name itself.
    Zfs {
        name: String,
        /// The head that has it imported.
        prefer: Option<String>,
        /// The heads that see all of its disks, if that is not all of them.
        nodes: Option<Vec<String>>,
    },
    /// A volume group.
    Lvm { name: String },
    /// A file system.
    Filesystem { device: String, fstype: String },
    /// A disk with nothing on it.
    Empty { device: String, size: String },
}

/// File systems that one head at a time mounts.
const FILE_SYSTEMS: [&str; 4] = ["ext4", "ext3", "xfs", "btrfs"];

pub(super) fn pools(heads: &[Head], disks: &[Shared<'_>], remarks: &mut Remarks) -> Vec<Found> {
    let mut found = zfs(heads, disks, remarks);
    groups(heads, disks, &mut found, remarks);
    for disk in disks {
        let place = disk.place(heads);
        let kinds: Vec<&str> = disk.contents().iter().map(|it| it.kind.as_str()).collect();
        match kinds[..] {
            [] => empty(disk, place, &mut found, remarks),
            _ if kinds
                .iter()
                .all(|kind| ["zfs_member", "LVM2_member"].contains(kind)) => {}
            _ => other(disk, &place, &mut found, remarks),
        }
    }
    if found.is_empty() {
        let why = "a [[pool]] stands on disks that two heads see: docs/cluster-file.md says what each kind needs";
        remarks.add(Said::ToYou, "-", "the pools; no disk shows one", why);
    }
    own_zfs(heads, disks, remarks);
    found
}

fn empty(disk: &Shared<'_>, place: String, found: &mut Vec<Found>, remarks: &mut Remarks) {
    let size = disk.size();
    let what = format!("a disk of {size}, on which nothing is recognised");
    match disk.path() {
        Some(device) => {
            remarks.add(Said::Seen, place, what, &device);
            found.push(Found::Empty { device, size });
        }
        None => {
            let why = "the heads have no name in /dev/disk/by-id for it in common";
            remarks.add(Said::ToYou, place, what, why);
        }
    }
}

/// File systems, and what no pool is made of.
fn other(disk: &Shared<'_>, place: &str, found: &mut Vec<Found>, remarks: &mut Remarks) {
    for content in disk.contents() {
        let kind = content.kind.as_str();
        let fine = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let known = !content.uuid.is_empty() && content.uuid.chars().all(fine);
        if FILE_SYSTEMS.contains(&kind) && known {
            let device = format!("/dev/disk/by-uuid/{}", content.uuid);
            let why = "a pool if clients use it; it stands in the file as a comment";
            remarks.add(Said::ToYou, place, format!("{kind} on {}", content.on), why);
            found.push(Found::Filesystem {
                device,
                fstype: kind.to_owned(),
            });
        } else if !["zfs_member", "LVM2_member"].contains(&kind) {
            let what = format!("{} on {}", quoted(kind), content.on);
            remarks.add(Said::LeftOut, place, what, "no pool is made of it");
        }
    }
}

/// A ZFS pool as the disks tell it, by its name and number.
type Named<'a> = (&'a str, &'a str);

fn zfs(heads: &[Head], disks: &[Shared<'_>], remarks: &mut Remarks) -> Vec<Found> {
    let mut on: BTreeMap<Named<'_>, Vec<&Shared<'_>>> = BTreeMap::new();
    for disk in disks {
        let members = disk.contents().iter().filter(|it| it.kind == "zfs_member");
        let named: BTreeSet<Named<'_>> = members
            .map(|it| (it.label.as_str(), it.uuid.as_str()))
            .collect();
        for pool in named {
            on.entry(pool).or_default().push(disk);
        }
    }
    let mut found = Vec::new();
    let mut names = BTreeSet::new();
    for ((name, number), members) in on {
        let place = members[0].place(heads);
        if usable_resource(name).as_deref() != Some(name) {
            let what = format!("a ZFS pool called {}", quoted(name));
            remarks.add(
                Said::LeftOut,
                place,
                what,
                "no pool of a cluster can have that name",
            );
            continue;
        }
        if !names.insert(name) {
            let what = format!("another ZFS pool called {name}, number {number}");
            let why = "rename one of both: `zpool import NUMBER NEWNAME`";
            remarks.add(Said::Doubtful, place, what, why);
            continue;
        }
        let importing: Vec<&str> = heads
            .iter()
            .filter(|head| head.zpools.iter().any(|pool| pool == name))
            .map(|head| head.hostname.as_str())
            .collect();
        if importing.len() > 1 {
            let what = format!("ZFS pool {name} is imported on {}", importing.join(" and "));
            let why =
                "if it is one pool, it is being destroyed: export it on all heads but one at once";
            remarks.add(Said::Doubtful, place, what, why);
            continue;
        }
        let seers = members
            .iter()
            .map(|disk| disk.seen.keys().copied().collect());
        let seers = seers.reduce(|a: BTreeSet<usize>, b| a.intersection(&b).copied().collect());
        let seers: Vec<String> = seers
            .into_iter()
            .flatten()
            .map(|i| heads[i].hostname.clone())
            .collect();
        if seers.len() < 2 {
            let what = format!("ZFS pool {name}");
            remarks.add(
                Said::LeftOut,
                place,
                what,
                "no two heads see all of its disks",
            );
            continue;
        }
        let prefer = importing.first().map(|head| (*head).to_owned());
        if prefer.as_ref().is_some_and(|head| !seers.contains(head)) {
            let what = format!("ZFS pool {name}");
            let why = "the head that has it imported sees disks of it that others do not";
            remarks.add(Said::LeftOut, place, what, why);
            continue;
        }
        let what = format!("ZFS pool {name} on {}", several(members.len()));
        let why = match &prefer {
            Some(head) => format!("imported on {head}, which is to be its usual head"),
            None => "imported nowhere".to_owned(),
        };
        remarks.add(Said::Seen, place, what, why);
        not_shared(heads, disks, (name, number), remarks);
        let why =
            "addresses = { … } and exports = \"iscsi\" or \"nfs\"; until then no client reaches it";
        remarks.add(
            Said::ToYou,
            "-",
            format!("what pool {name} offers, and where"),
            why,
        );
        found.push(Found::Zfs {
            name: name.to_owned(),
            prefer,
            nodes: (seers.len() < heads.len()).then_some(seers),
        });
    }
    found
}

fn several(disks: usize) -> String {
    match disks {
        1 => "a disk that the heads share".to_owned(),
        n => format!("{n} disks that the heads share"),
    }
}

/// A part of the pool on a disk that one head has for itself: the others cannot import it.
fn not_shared(heads: &[Head], disks: &[Shared<'_>], pool: Named<'_>, remarks: &mut Remarks) {
    for (i, head) in heads.iter().enumerate() {
        for disk in head.around.disks.iter().flatten() {
            let mut contents = disk.contents.iter();
            let member = contents
                .any(|it| it.kind == "zfs_member" && (it.label.as_str(), it.uuid.as_str()) == pool);
            let mut known = disks.iter().filter_map(|it| it.seen.get(&i)).flatten();
            if member && !known.any(|it| it.name == disk.name) {
                let place = format!("{}:{}", head.hostname, disk.name);
                let what = format!(
                    "a part of pool {} is on a disk that no other head sees",
                    pool.0
                );
                let why =
                    "another head cannot import it so: `zpool remove`, or connect the disk to all";
                remarks.add(Said::Doubtful, place, what, why);
            }
        }
    }
}

/// Pools that a head has for itself.
fn own_zfs(heads: &[Head], disks: &[Shared<'_>], remarks: &mut Remarks) {
    let contents = disks.iter().flat_map(Shared::contents);
    let members = contents.filter(|it| it.kind == "zfs_member");
    let told: BTreeSet<&str> = members.map(|it| it.label.as_str()).collect();
    for head in heads {
        for pool in &head.zpools {
            if !told.contains(pool.as_str()) {
                let what = format!("ZFS pool {}", quoted(pool));
                let why = "its disks are not seen to be another head's too";
                remarks.add(Said::LeftOut, &head.hostname, what, why);
            }
        }
    }
}

fn groups(heads: &[Head], disks: &[Shared<'_>], found: &mut Vec<Found>, remarks: &mut Remarks) {
    let mut known = BTreeSet::new();
    for (i, head) in heads.iter().enumerate() {
        for group in head.around.groups.iter().flatten() {
            let on = |name: &String| {
                let mut of = disks.iter().filter_map(|it| it.seen.get(&i)).flatten();
                of.any(|disk| disk.name == *name || disk.contents.iter().any(|it| it.on == *name))
            };
            let shared = !group.on.is_empty() && group.on.iter().all(on);
            let place = head.hostname.as_str();
            let what = format!("volume group {}", quoted(&group.name));
            if !shared {
                let why = "its disks are not seen to be another head's too";
                remarks.add(Said::LeftOut, place, what, why);
            } else if known.insert(&group.uuid) {
                let why = "a pool if clients use it; it stands in the file as a comment";
                remarks.add(Said::ToYou, place, what, why);
                found.push(Found::Lvm {
                    name: group.name.clone(),
                });
            }
        }
    }
}
