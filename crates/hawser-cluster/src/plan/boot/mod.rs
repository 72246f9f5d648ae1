//! What would import or offer a pool outside of the cluster when a head boots: two heads then have one pool, or
//! clients are offered what is not there. It belongs to the operator, so nothing of it is changed by an apply; an apply
//! waits until it is gone.

mod danger;
mod facts;
pub(crate) mod read;
mod zpool_cache;

use std::collections::BTreeMap;

use hawser_model::cluster_file::{Backend, ClusterFile, Pool, PoolKind};
use hawser_model::names::HostName;

pub use danger::{Danger, What};
pub use facts::{BootFacts, Mount};
pub use zpool_cache::Cached;

/// ZFS's cache file.
pub const ZFS_CACHE: &str = "/etc/zfs/zpool.cache";
/// What ZFS tells machines apart by.
pub const HOSTID: &str = "/etc/hostid";
/// Imports what the cache file names.
pub const IMPORT_CACHE: &str = "zfs-import-cache.service";
/// Imports every pool that it sees, when there is no cache file.
pub const IMPORT_SCAN: &str = "zfs-import-scan.service";
/// What restores the saved targets of LIO, and the file: Debian's names and Red Hat's.
pub const SAVED_TARGETS: [(&str, &str); 2] = [
    (
        "rtslib-fb-targetctl.service",
        "/etc/rtslib-fb-target/saveconfig.json",
    ),
    ("target.service", "/etc/target/saveconfig.json"),
];
/// The units that give tgtd its targets, by Debian's name and by Red Hat's, with the files they read.
pub const TGT: (&[&str], &[&str]) = (
    &["tgt.service", "tgtd.service"],
    &["/etc/tgt/targets.conf", "/etc/tgt/conf.d/"],
);
/// The units that export by NFS, with the files.
pub const NFS: (&[&str], &[&str]) = (
    &["nfs-server.service", "nfs-kernel-server.service"],
    &["/etc/exports", "/etc/exports.d/"],
);
/// What is mounted at boot.
pub const FSTAB: &str = "/etc/fstab";
/// LVM's settings; those of the second count.
pub const LVM: [&str; 2] = ["/etc/lvm/lvm.conf", "/etc/lvm/lvmlocal.conf"];

/// What would happen at the next boot of each head that was looked at, to pools of this file.
pub fn dangers_at_boot(file: &ClusterFile, heads: &BTreeMap<HostName, BootFacts>) -> Vec<Danger> {
    let mut found = Vec::new();
    for (node, facts) in heads {
        let mut add = |path: &str, what| {
            found.push(Danger {
                node: node.clone(),
                what,
                file: path.to_owned(),
            });
        };
        zfs(file, node, facts, heads, &mut add);
        targets(file, facts, &mut add);
        mounts(file, facts, &mut add);
        volume_groups(file, facts, &mut add);
    }
    found
}

fn zfs(
    file: &ClusterFile,
    node: &HostName,
    facts: &BootFacts,
    heads: &BTreeMap<HostName, BootFacts>,
    add: &mut impl FnMut(&str, What),
) {
    let pools: Vec<&str> = file
        .pools
        .iter()
        .filter(|pool| *pool.kind == PoolKind::Zfs)
        .map(|pool| pool.zpool())
        .collect();
    if pools.is_empty() {
        return;
    }
    for (path, cached) in &facts.zfs_caches {
        let Cached::Pools(named) = cached else {
            add(path, What::UnreadableCache);
            continue;
        };
        let ours = |pool: &&String| pools.contains(&pool.as_str());
        let others: Vec<String> = named.iter().filter(|pool| !ours(pool)).cloned().collect();
        for pool in named.iter().filter(ours) {
            let (pool, others) = (pool.clone(), others.clone());
            let imported = facts.enabled.contains(IMPORT_CACHE);
            add(
                path,
                What::CachedPool {
                    pool,
                    imported,
                    others,
                },
            );
        }
    }
    if facts.enabled.contains(IMPORT_SCAN) {
        let held_back = facts.zfs_caches.values().any(|cache| !cache.is_empty());
        add(IMPORT_SCAN, What::ImportsAll { held_back });
    }
    for pool in pools {
        // An instance has the name as systemd-escape(1) writes it; a pool's name needs no escape but for dashes.
        let unit = format!("zfs-import@{}.service", pool.replace('-', "\\x2d"));
        if facts.enabled.contains(&unit) {
            add(&unit, What::ImportsOne { pool: pool.into() });
        }
    }
    match facts.hostid {
        None => add(HOSTID, What::NoHostid),
        Some(hostid) => {
            let same = heads
                .iter()
                .filter(|(other, there)| *other > node && there.hostid == Some(hostid));
            for (other, _) in same {
                let other = other.clone();
                add(HOSTID, What::SameHostid { other, hostid });
            }
        }
    }
}

fn targets(file: &ClusterFile, facts: &BootFacts, add: &mut impl FnMut(&str, What)) {
    for (unit, path) in SAVED_TARGETS {
        let saved = facts.saved_targets.get(path);
        let Some(saved) = saved.filter(|_| facts.enabled.contains(unit)) else {
            continue;
        };
        let unit = unit.to_owned();
        let Some(objects) = saved else {
            add(path, What::UnreadableTargets { unit });
            continue;
        };
        let count = add_offers(file, facts, path, &unit, objects, add);
        if count == 0 && !objects.is_empty() && file.exports.backend == Backend::Lio {
            let objects = objects.len();
            add(path, What::ClearsTarget { unit, objects });
        }
    }
    for (units, files) in [(TGT.0, &facts.stores), (NFS.0, &facts.exported)] {
        let Some(unit) = units.iter().find(|unit| facts.enabled.contains(**unit)) else {
            continue;
        };
        for (path, objects) in files {
            add_offers(file, facts, path, unit, objects, add);
        }
    }
}

fn add_offers(
    file: &ClusterFile,
    facts: &BootFacts,
    path: &str,
    unit: &str,
    objects: &[String],
    add: &mut impl FnMut(&str, What),
) -> usize {
    let of_a_pool = objects.iter().filter_map(|object| {
        let mut pools = file.pools.iter();
        let others = facts.aliases.get(object).into_iter().flatten();
        let all: Vec<&String> = others.chain([object]).collect();
        let pool = pools.find(|pool| all.iter().any(|name| is_of(pool, name)))?;
        Some((pool, object))
    });
    let mut count = 0;
    for (pool, object) in of_a_pool {
        count += 1;
        let (pool, object) = (pool.name.to_string(), object.clone());
        let unit = unit.to_owned();
        add(path, What::Offers { pool, object, unit });
    }
    count
}

fn mounts(file: &ClusterFile, facts: &BootFacts, add: &mut impl FnMut(&str, What)) {
    for line in &facts.mounts {
        let aliases = line.aliases.iter().map(String::as_str);
        let names: Vec<&str> = aliases.chain([&*line.device]).collect();
        let mut pools = file.pools.iter();
        let pool = pools.find(|pool| {
            // `POOL/dataset` is what a line of type zfs mounts.
            let dataset = |name: &str| *pool.kind == PoolKind::Zfs && below(name, pool.zpool());
            is_of(pool, &line.place) || names.iter().any(|name| is_of(pool, name) || dataset(name))
        });
        if let Some(pool) = pool {
            let what = What::Mounts {
                pool: pool.name.to_string(),
                device: line.device.clone(),
                place: line.place.clone(),
            };
            add(FSTAB, what);
        }
    }
}

fn volume_groups(file: &ClusterFile, facts: &BootFacts, add: &mut impl FnMut(&str, What)) {
    let source = facts.system_id_source.as_deref();
    if source.is_some_and(|source| source != "none") {
        return;
    }
    for pool in file.pools.iter().filter(|p| *p.kind == PoolKind::Lvm) {
        if let Some(group) = pool.volume_group.as_ref() {
            let group = group.to_string();
            add(LVM[0], What::NoSystemId { group });
        }
    }
}

/// Whether a device, a file or a directory is the pool or lies on it.
fn is_of(pool: &Pool, path: &str) -> bool {
    let name = pool.zpool();
    let root = match (&pool.directory, *pool.kind) {
        (Some(directory), _) => Some(directory.to_string()),
        (None, PoolKind::Zfs) => Some(format!("/{name}")),
        (None, _) => None,
    };
    let mut folders: Vec<String> = root.into_iter().collect();
    match *pool.kind {
        // zvol_id of OpenZFS makes both.
        PoolKind::Zfs => folders.extend([format!("/dev/zvol/{name}"), format!("/dev/{name}")]),
        PoolKind::Lvm => {
            if let Some(group) = &pool.volume_group {
                let mapped = format!("/dev/mapper/{}-", group.replace('-', "--"));
                let rest = path.strip_prefix(&mapped).unwrap_or_default();
                // A dash of a name is written twice there: one alone ends the group's name.
                if !rest.is_empty() && !rest.starts_with('-') {
                    return true;
                }
                folders.push(format!("/dev/{}", **group));
            }
        }
        PoolKind::Filesystem => folders.extend(pool.device.as_ref().map(|d| d.to_string())),
    }
    folders.iter().any(|folder| below(path, folder))
}

fn below(path: &str, folder: &str) -> bool {
    let rest = path.strip_prefix(folder.trim_end_matches('/'));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
