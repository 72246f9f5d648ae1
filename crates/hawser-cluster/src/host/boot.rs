//! What this machine would do by itself at its next boot: the files that say so, read and not judged.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::device_names::DeviceNames;
use crate::exports::nfs::is_kept;
use crate::plan::boot::read as parse;
use crate::plan::boot::{
    BootFacts, Cached, FSTAB, HOSTID, IMPORT_CACHE, IMPORT_SCAN, LVM, NFS, SAVED_TARGETS, TGT,
    ZFS_CACHE,
};

/// None of these files comes near it.
const LARGEST: u64 = 4 << 20;

/// Where systemd finds what is enabled: by its administrator, for this boot, by the distribution.
const SYSTEMD: [&str; 3] = [
    "/etc/systemd/system",
    "/run/systemd/system",
    "/usr/lib/systemd/system",
];

/// Reads the files below `root`, which is `/` but for tests.
pub fn look(root: &Path) -> BootFacts {
    let text = |path: &str| {
        let bytes = read(&below(root, path))?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    };
    let texts = |paths: &[&str]| -> Vec<(String, String)> {
        let paths = paths.iter().flat_map(|path| files(root, path));
        paths
            .filter_map(|path| Some((path.clone(), text(&path)?)))
            .collect()
    };
    let saved = SAVED_TARGETS.iter().filter_map(|(_, path)| {
        let objects = parse::saved_objects(&text(path)?);
        Some(((*path).to_owned(), objects))
    });
    let cache = read(&below(root, ZFS_CACHE)).map(|bytes| Cached::parse(&bytes));
    let lvm = texts(&LVM);
    let mut sources = lvm
        .iter()
        .filter_map(|(_, text)| parse::lvm_setting(text, "system_id_source"));
    let mut mounts = parse::mounts(&text(FSTAB).unwrap_or_default());
    let names = DeviceNames::look(root);
    for mount in &mut mounts {
        mount.aliases = names.of(&mount.device);
    }
    let saved_targets: BTreeMap<String, Option<Vec<String>>> = saved.collect();
    let stores: BTreeMap<String, Vec<String>> = texts(TGT.1)
        .into_iter()
        .map(|(path, text)| (path, parse::backing_stores(&text)))
        .collect();
    let offered = saved_targets.values().flatten().chain(stores.values());
    let aliases = offered
        .flatten()
        .map(|object| (object.clone(), names.of(object)))
        .filter(|(_, others)| !others.is_empty());
    BootFacts {
        hostid: hostid(root),
        enabled: enabled(root),
        zfs_caches: cache
            .map(|cache| (ZFS_CACHE.to_owned(), cache))
            .into_iter()
            .collect(),
        aliases: aliases.collect(),
        saved_targets,
        stores,
        exported: texts(NFS.1)
            .into_iter()
            .map(|(path, text)| (path, parse::exported(&text)))
            .collect(),
        mounts,
        system_id_source: sources.next_back().map(str::to_owned),
    }
}

/// A file, or those in a folder that its reader takes.
fn files(root: &Path, path: &str) -> Vec<String> {
    let Some(folder) = path.strip_suffix('/') else {
        return vec![path.to_owned()];
    };
    let folder = below(root, folder);
    names(&folder)
        .into_iter()
        .filter(|name| name.ends_with(".conf") || name.ends_with(".exports"))
        // What a pool that is active has started: gone at a boot.
        .filter(|name| !is_kept(&folder.join(name)))
        .map(|name| format!("{path}{name}"))
        .collect()
}

/// As the module takes it: a parameter that is not 0, else the file (`zone_get_hostid` in OpenZFS' spl-generic.c).
fn hostid(root: &Path) -> Option<u32> {
    let parameter = read(&below(root, "/sys/module/spl/parameters/spl_hostid"));
    let told = parameter.and_then(|text| String::from_utf8(text).ok()?.trim().parse().ok());
    let file = || {
        let bytes = read(&below(root, HOSTID))?;
        Some(u32::from_ne_bytes(bytes.get(..4)?.try_into().ok()?))
    };
    told.filter(|id| *id != 0)
        .or_else(file)
        .filter(|id| *id != 0)
}

/// Units that something wants at boot and nobody has masked.
fn enabled(root: &Path) -> BTreeSet<String> {
    let looked_for = |unit: &str| {
        let saved = SAVED_TARGETS.iter().map(|(unit, _)| unit);
        let mut all = saved
            .chain(TGT.0)
            .chain(NFS.0)
            .chain(&[IMPORT_CACHE, IMPORT_SCAN]);
        all.any(|one| *one == unit) || unit.starts_with("zfs-import@")
    };
    let mut found = BTreeSet::new();
    for folder in SYSTEMD {
        for wants in names(&below(root, folder)) {
            if wants.ends_with(".wants") || wants.ends_with(".requires") {
                let units = names(&below(root, folder).join(wants));
                found.extend(units.into_iter().filter(|unit| looked_for(unit)));
            }
        }
    }
    let masked = |unit: &str| {
        let own = below(root, SYSTEMD[0]).join(unit);
        fs::read_link(own).is_ok_and(|target| target == Path::new("/dev/null"))
    };
    found.retain(|unit| !masked(unit));
    found
}

pub(super) fn below(root: &Path, path: &str) -> PathBuf {
    root.join(path.trim_start_matches('/'))
}

pub(super) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect()
}

/// A file's beginning, if it is one: nothing here may make the agent wait.
pub(super) fn read(path: &Path) -> Option<Vec<u8>> {
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(nix::fcntl::OFlag::O_NONBLOCK.bits())
        .open(path);
    let file = opened.ok()?;
    let regular = file.metadata().ok()?.is_file();
    let mut bytes = Vec::new();
    file.take(LARGEST).read_to_end(&mut bytes).ok()?;
    regular.then_some(bytes)
}
