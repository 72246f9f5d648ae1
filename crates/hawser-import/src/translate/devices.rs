//! What is mounted from where: which file systems are pools, and which are not.

use std::collections::BTreeMap;

use super::pools::kind_of;
use crate::crm::Primitive;
use crate::exports::path::mapped;
use crate::page::Page;
use crate::picture::{Picture, Pool, PoolKind};
use crate::place::quoted;

/// Kinds of file systems that are on no disk of the cluster's.
const ELSEWHERE: [(&str, &str); 9] = [
    ("nfs", "another server's export"),
    ("nfs4", "another server's export"),
    ("cifs", "another server's share"),
    ("smb3", "another server's share"),
    ("ceph", "another cluster's"),
    ("glusterfs", "another cluster's"),
    ("tmpfs", "in memory"),
    ("ramfs", "in memory"),
    ("none", "a directory that is mounted again"),
];

/// Why what a `Filesystem` mounts is no storage of the cluster's.
pub(super) fn elsewhere(primitive: &Primitive) -> Option<&'static str> {
    let param = |name: &str| primitive.param(&[name]).unwrap_or_default();
    let (device, fstype) = (param("device"), param("fstype"));
    let known = ELSEWHERE.iter().find(|(kind, _)| *kind == fstype);
    if let Some((_, why)) = known {
        return Some(why);
    }
    let bound = param("options")
        .split(',')
        .any(|o| matches!(o, "bind" | "rbind"));
    match device {
        _ if bound => Some("a directory that is mounted again"),
        device if device.starts_with("//") => Some("another server's share"),
        device if device.contains(":/") => Some("another server's export"),
        _ => None,
    }
}

/// The path of a device that mount(8) is told by its UUID or label.
pub(crate) fn path(device: &str) -> String {
    let names = [
        ("-U", "uuid"),
        ("UUID=", "uuid"),
        ("-L", "label"),
        ("LABEL=", "label"),
        ("PARTUUID=", "partuuid"),
        ("PARTLABEL=", "partlabel"),
    ];
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    for (start, folder) in names {
        let name = device.strip_prefix(start).map(str::trim);
        if let Some(name) = name.filter(|name| !name.is_empty() && name.chars().all(plain)) {
            return format!("/dev/disk/by-{folder}/{name}");
        }
    }
    device.to_owned()
}

/// The volume group that a file system is on a volume of.
pub(super) fn group_of(pool: &Pool) -> Option<String> {
    let device = pool.device.as_deref()?;
    if pool.kind != PoolKind::Filesystem {
        return None;
    }
    match device.strip_prefix("/dev/mapper/") {
        Some(name) => Some(mapped(name)?.0),
        None => Some(device.strip_prefix("/dev/")?.split_once('/')?.0.to_owned()),
    }
}

/// Whether a resource offers a directory of a file system.
pub(super) fn offered(pool: &Pool, exports: &[&Primitive]) -> bool {
    let Some(root) = pool.directory.as_deref() else {
        return false;
    };
    exports.iter().any(|export| {
        let directory = export.param(&["directory"]).unwrap_or_default();
        let rest = directory.strip_prefix(root.trim_end_matches('/'));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

/// Two resources that activate volumes of one group are one pool: the group moves as a whole.
pub(super) fn one_group(picture: &mut Picture, page: &mut Page) {
    let mut first: BTreeMap<String, usize> = BTreeMap::new();
    let mut pools: Vec<Pool> = Vec::new();
    for pool in std::mem::take(&mut picture.pools) {
        let group = pool.volume_group.clone();
        let Some(group) = group.filter(|_| pool.kind == PoolKind::Lvm) else {
            pools.push(pool);
            continue;
        };
        let Some(i) = first.get(&group) else {
            first.insert(group, pools.len());
            pools.push(pool);
            continue;
        };
        page.changed(
            &pool.at,
            format!("{} of volume group {}", quoted(&pool.name), quoted(&group)),
            format!("pool {} activates the whole volume group", pools[*i].name),
        );
        pools[*i].resources.extend(pool.resources);
    }
    picture.pools = pools;
}

/// How a volume group was activated, where Hawser does it otherwise.
pub(super) fn activation(primitive: &Primitive, page: &mut Page) {
    let id = quoted(&primitive.id);
    let told = |page: &mut Page, name: &str, why: &str| {
        if let Some(value) = primitive.param(&[name]) {
            page.changed(
                &primitive.at,
                format!("{name}={} of {id}", quoted(value)),
                why,
            );
        }
    };
    match kind_of(primitive) {
        "LVM" => page.changed(
            &primitive.at,
            format!("{id}, LVM"),
            "LVM-activate by the system's ID: give the volume group one first (vgchange --systemid)",
        ),
        "LVM-activate" => {
            told(page, "lvname", "the whole volume group is activated");
            let mode = primitive.param(&["vg_access_mode"]);
            if mode.is_some_and(|mode| mode != "system_id") {
                told(
                    page,
                    "vg_access_mode",
                    "system_id: one head has the volume group",
                );
            }
            if primitive.param(&["activation_mode"]) == Some("shared") {
                told(
                    page,
                    "activation_mode",
                    "exclusive: one head has the volume group",
                );
            }
        }
        _ => {}
    }
}

/// What is said of [`on_linux`].
pub(super) const LINUX_HAS_OTHERS: &str = "illumos's folder of disks; Linux has them in /dev/disk/by-id, where all heads know a disk by one name";

/// The options of `zpool import` on Linux, where they name illumos's folder of disks.
pub(super) fn on_linux(was: &str) -> Option<String> {
    let mut words: Vec<&str> = Vec::new();
    let mut changed = false;
    for word in was.split_whitespace() {
        // `-d FOLDER` or `-dFOLDER` (zpool-import(8)).
        let (option, path) = match word.strip_prefix("-d") {
            Some(path) if !path.is_empty() => (true, path),
            _ => (false, word),
        };
        let below = ["/dev/dsk", "/dev/rdsk"].iter().any(|folder| {
            let rest = path.strip_prefix(folder);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        });
        if !below {
            words.push(word);
            continue;
        }
        changed = true;
        if !option && words.last() == Some(&"-d") {
            words.pop();
        }
        if !words.ends_with(&LINUX) {
            words.extend(LINUX);
        }
    }
    changed.then(|| words.join(" "))
}

const LINUX: [&str; 2] = ["-d", "/dev/disk/by-id"];

/// Why a directory is not the pool's to offer.
pub(super) fn outside(pool: &Pool, directory: &str) -> Option<String> {
    // Where a dataset of a ZFS pool is mounted, no source says.
    let root = pool
        .directory
        .as_ref()
        .filter(|_| pool.kind != PoolKind::Zfs)?;
    let rest = directory.strip_prefix(root.trim_end_matches('/'));
    let inside = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    (!inside).then(|| format!("its directory is not in pool {}", pool.name))
}

/// A file system that is no pool.
pub(super) fn hanging(primitive: &Primitive, owner: Option<&Pool>, page: &mut Page) {
    let what = format!("{}, {}", quoted(&primitive.id), primitive.agent);
    debug_assert_eq!(kind_of(primitive), "Filesystem");
    match (elsewhere(primitive), owner) {
        (Some(why), _) => page.foreign(
            &primitive.at,
            what,
            format!("it mounts what is {why}, no pool"),
        ),
        (None, Some(pool)) => {
            let (name, root) = (&pool.name, pool.directory.as_deref().unwrap_or_default());
            page.foreign(
                &primitive.at,
                what,
                format!("pool {name} has one file system, {root}; this one hangs on it: keep its constraints"),
            );
        }
        (None, None) => page.foreign(&primitive.at, what, "kept, and left as it is"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disks_of_illumos_are_looked_for_where_linux_has_them() {
        for (was, on) in [
            ("-d /dev/dsk", Some("-d /dev/disk/by-id")),
            (
                "-o ro=1 -d/dev/rdsk -m",
                Some("-o ro=1 -d /dev/disk/by-id -m"),
            ),
            (
                "-d /dev/dsk/c0t0d0 -d /dev/dsk/c0t1d0",
                Some("-d /dev/disk/by-id"),
            ),
            ("-d /dev/disk/by-id", None),
            ("-d /dev/dsk-of-mine", None),
            ("", None),
        ] {
            assert_eq!(on_linux(was).as_deref(), on, "{was}");
        }
    }
}
