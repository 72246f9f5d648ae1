//! What is mounted from where: which file systems are pools, and which are not.

use super::pools::kind_of;
use crate::crm::Primitive;
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

/// Whether a pool is a file system on a volume of that group.
pub(super) fn on(pool: &Pool, group: &str) -> bool {
    let mapped = group.replace('-', "--");
    let on = |device: &str| {
        device.starts_with(&format!("/dev/{group}/"))
            || device.starts_with(&format!("/dev/mapper/{mapped}-"))
    };
    pool.kind == PoolKind::Filesystem && pool.device.as_deref().is_some_and(on)
}

/// Whether a resource offers a directory of a file system.
pub(super) fn offered(pool: &Pool, all: &[&Primitive]) -> bool {
    let Some(root) = pool.directory.as_deref() else {
        return false;
    };
    let mut exports = all.iter().filter(|p| kind_of(p) == "exportfs");
    exports.any(|export| {
        let directory = export.param(&["directory"]).unwrap_or_default();
        let rest = directory.strip_prefix(root.trim_end_matches('/'));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

/// Two resources that activate volumes of one group are one pool: the group moves as a whole.
pub(super) fn one_group(name: &str, group: &str, picture: &mut Picture, page: &mut Page) {
    let same = |pool: &Pool| {
        pool.kind == PoolKind::Lvm
            && pool.name != name
            && pool.volume_group.as_deref() == Some(group)
    };
    if !picture.pools.iter().any(|pool| pool.name == name) {
        return;
    }
    while let Some(i) = picture.pools.iter().position(same) {
        let other = picture.pools.remove(i);
        page.changed(
            &other.at,
            format!("{} of volume group {}", quoted(&other.name), quoted(group)),
            format!("pool {name} activates the whole volume group"),
        );
        if let Some(pool) = picture.pool_mut(name) {
            pool.resources.extend(other.resources);
        }
    }
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

/// Why a directory is not the pool's to offer.
pub(super) fn outside(name: &str, directory: &str, picture: &Picture) -> Option<String> {
    let pool = picture.pools.iter().find(|pool| pool.name == name)?;
    // Where a dataset of a ZFS pool is mounted, no source says.
    let root = pool
        .directory
        .as_ref()
        .filter(|_| pool.kind != PoolKind::Zfs)?;
    let rest = directory.strip_prefix(root.trim_end_matches('/'));
    let inside = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    (!inside).then(|| format!("its directory is not in pool {name}"))
}

/// A file system that is no pool.
pub(super) fn hanging(
    primitive: &Primitive,
    owner: Option<&str>,
    picture: &Picture,
    page: &mut Page,
) {
    let what = format!("{}, {}", quoted(&primitive.id), primitive.agent);
    debug_assert_eq!(kind_of(primitive), "Filesystem");
    match (elsewhere(primitive), owner) {
        (Some(why), _) => page.foreign(
            &primitive.at,
            what,
            format!("it mounts what is {why}, no pool"),
        ),
        (None, Some(name)) => {
            let root = picture.pools.iter().find(|pool| pool.name == name);
            let root = root
                .and_then(|pool| pool.directory.clone())
                .unwrap_or_default();
            page.foreign(
                &primitive.at,
                what,
                format!("pool {name} has one file system, {root}; this one hangs on it: keep its constraints"),
            );
        }
        (None, None) => page.foreign(&primitive.at, what, "kept, and left as it is"),
    }
}
