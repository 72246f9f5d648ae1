//! `/etc/sysctl.d/60-hawser.conf`, read at boot by systemd-sysctl(8) or procps' `sysctl --system`.
//!
//! Both sort the files of all their folders by name, whatever the folder (sysctl.d(5)); of two of one
//! name only the one in the first folder counts. procps reads `/etc/sysctl.conf` after all of them.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use super::modprobe_d;

const FILE: &str = "60-hawser.conf";

/// The sysctls of `nf_conntrack`, which is loaded with the first rule that needs it.
const CONNTRACK: &str = "net.netfilter.nf_conntrack";

/// Programs that read the folders at boot.
const READERS: [&str; 5] = [
    "/usr/lib/systemd/systemd-sysctl",
    "/lib/systemd/systemd-sysctl",
    "/etc/init.d/procps",
    "/usr/sbin/sysctl",
    "/sbin/sysctl",
];

/// The folders, the one that counts first.
const FOLDERS: [&str; 5] = [
    "etc/sysctl.d",
    "run/sysctl.d",
    "usr/local/lib/sysctl.d",
    "usr/lib/sysctl.d",
    "lib/sysctl.d",
];

pub(super) fn plan(root: &Path, name: &str, value: &str) -> Result<PathBuf, String> {
    let folder = root.join(FOLDERS[0]);
    if !folder.is_dir() {
        return Err(format!("this host has no {}", folder.display()));
    }
    if !READERS.iter().any(|reader| Path::new(reader).exists()) {
        return Err(format!("nothing on this host reads {}", folder.display()));
    }
    if let Some(other) = overrider(root, name, value) {
        return Err(format!(
            "{other} is read later and sets {name} to something else: change it there"
        ));
    }
    if name.starts_with(CONNTRACK) && comes_late(root, "nf_conntrack") {
        return Err(
            "nf_conntrack is a module that may be loaded after sysctl.d is read: name it in \
             /etc/modules-load.d first"
                .to_owned(),
        );
    }
    Ok(folder.join(FILE))
}

/// Whether a module may come after sysctl.d was read, so that its sysctls are not there yet (sysctl.d(5), "Examples").
fn comes_late(root: &Path, module: &str) -> bool {
    let listed = FOLDERS.map(|folder| folder.replace("sysctl.d", "modules-load.d"));
    let files = listed
        .iter()
        .flat_map(|folder| fs::read_dir(root.join(folder)))
        .flatten()
        .flatten()
        .map(|file| file.path())
        .filter(|path| path.extension().is_some_and(|e| e == "conf"));
    let mut texts = files
        .chain([root.join("etc/modules")])
        .filter_map(|path| fs::read_to_string(path).ok());
    // `-` and `_` are the same, and parameters may follow (modules-load.d(5), modules(5)).
    let named = |line: &str| {
        line.split_whitespace()
            .next()
            .map(|word| word.replace('-', "_"))
    };
    let early = texts.any(|text| {
        text.lines()
            .any(|line| named(line).as_deref() == Some(module))
    });
    !early && modprobe_d::loadable(root, module)
}

/// Where it may have written.
pub(super) fn files(root: &Path) -> Vec<PathBuf> {
    vec![root.join(FOLDERS[0]).join(FILE)]
}

pub(super) fn line(name: &str, value: &str) -> String {
    format!("{name} = {value}")
}

/// The line that is read after ours and sets `name` to something else, if any.
fn overrider(root: &Path, name: &str, value: &str) -> Option<String> {
    let mut files: BTreeMap<OsString, PathBuf> = BTreeMap::new();
    for folder in FOLDERS {
        for file in fs::read_dir(root.join(folder))
            .into_iter()
            .flatten()
            .flatten()
        {
            let path = file.path();
            if path.extension().is_some_and(|e| e == "conf") {
                files.entry(file.file_name()).or_insert(path);
            }
        }
    }
    let mut later: Vec<PathBuf> = files
        .into_iter()
        .filter(|(name, _)| name.as_os_str() > OsStr::new(FILE))
        .map(|(_, path)| path)
        .collect();
    later.push(root.join("etc/sysctl.conf"));
    // The last one that sets it wins.
    later.into_iter().rev().find_map(|path| {
        let text = fs::read_to_string(&path).ok()?;
        let lines = text.lines().enumerate();
        let (line, set) = lines
            .filter_map(|(n, line)| Some((n, set(line, name)?)))
            .last()?;
        let same = set.split_whitespace().eq(value.split_whitespace());
        Some((!same).then(|| format!("{}:{}", path.display(), line + 1)))
    })?
}

/// Two names are one variable (`nf_ct_netfilter_table` in net/netfilter/nf_conntrack_standalone.c).
fn one_name(name: String) -> String {
    match name.as_str() {
        "net.nf_conntrack_max" => "net.netfilter.nf_conntrack_max".to_owned(),
        _ => name,
    }
}

/// What a line sets this sysctl to. `/` and `.` mean the same, a leading `-` is allowed, and a
/// component may be `*`.
fn set<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let (key, value) = line.split_once('=')?;
    let key = one_name(key.trim().trim_start_matches('-').trim().replace('/', "."));
    let name = one_name(name.replace('/', "."));
    let (key, name): (Vec<&str>, Vec<&str>) = (key.split('.').collect(), name.split('.').collect());
    let same = key.len() == name.len() && key.iter().zip(&name).all(|(k, n)| k == n || *k == "*");
    same.then_some(value.trim())
}
