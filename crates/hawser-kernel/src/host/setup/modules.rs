//! Parameters of loaded modules (`/sys/module/NAME/parameters`), as far as their mode lets them be read.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::word;

/// Modules whose parameters decide about a path, beside the drivers of its cards.
const WANTED: [&str; 15] = [
    "bonding",
    "iscsi_target_mod",
    "lockd",
    "mpt3sas",
    "nf_conntrack",
    "nfsd",
    "nvme",
    "nvme_core",
    "scsi_mod",
    "spl",
    "sunrpc",
    "target_core_mod",
    "tcp_bbr",
    "tcp_cubic",
    "zfs",
];

/// More than any module has (zfs: about 300).
const MOST: usize = 1_000;

/// By the module's name; `None` when the folder cannot be read.
pub(super) fn read(
    modules: &Path,
    drivers: &BTreeSet<&str>,
) -> Option<BTreeMap<String, BTreeMap<String, String>>> {
    let loaded = fs::read_dir(modules).ok()?.flatten();
    let loaded = loaded.filter_map(|entry| entry.file_name().into_string().ok());
    // A driver `virtio_net` and its module may be written with `-` or `_`.
    let drivers: BTreeSet<String> = drivers.iter().map(|d| d.replace('-', "_")).collect();
    let wanted = |name: &String| WANTED.contains(&name.as_str()) || drivers.contains(name);
    let of = |name: String| (parameters(&modules.join(&name).join("parameters")), name);
    let all = loaded.filter(wanted).map(of);
    Some(all.map(|(parameters, name)| (name, parameters)).collect())
}

fn parameters(folder: &Path) -> BTreeMap<String, String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let one = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().ok()?;
        Some((name, word(&entry.path())?))
    };
    entries.take(MOST).filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_those_of_the_drivers_and_of_storage() {
        let folder = tempfile::tempdir().unwrap();
        let put = |path: &str, value: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, value).unwrap();
        };
        put("zfs/parameters/zfs_txg_timeout", "5\n");
        put("bnx2x/parameters/disable_tpa", "0\n");
        put("snd/parameters/major", "116\n");
        fs::create_dir_all(folder.path().join("nfsd")).unwrap();
        let read = read(folder.path(), &BTreeSet::from(["bnx2x"])).unwrap();
        let names: Vec<&str> = read.keys().map(String::as_str).collect();
        assert_eq!(names, ["bnx2x", "nfsd", "zfs"]);
        assert_eq!(read["bnx2x"]["disable_tpa"], "0");
        assert!(read["nfsd"].is_empty());
    }
}
