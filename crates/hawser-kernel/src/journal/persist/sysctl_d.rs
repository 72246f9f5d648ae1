//! `/etc/sysctl.d/60-hawser.conf`, read at boot by systemd-sysctl(8) or procps' `sysctl --system`.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use hawser_model::knob::{Change, Knob};

use crate::KernelError;
use crate::journal::folder::{failed, write_whole};

const FILE: &str = "60-hawser.conf";
const HEADER: &str = "# Written by `hawser tune`, wholly its own: made anew with every change, and removed by\n\
                      # `hawser undo --all`. Put your own settings into another file.\n";

/// Programs that read the folder at boot.
const READERS: [&str; 5] = [
    "/usr/lib/systemd/systemd-sysctl",
    "/lib/systemd/systemd-sysctl",
    "/etc/init.d/procps",
    "/usr/sbin/sysctl",
    "/sbin/sysctl",
];

pub(super) fn plan(etc: &Path, name: &str) -> Result<PathBuf, String> {
    let folder = etc.join("sysctl.d");
    let path = folder.join(FILE);
    if !folder.is_dir() {
        return Err(format!("this host has no {}", folder.display()));
    }
    if !READERS.iter().any(|reader| Path::new(reader).exists()) {
        return Err(format!("nothing on this host reads {}", folder.display()));
    }
    if !is_ours(&path) {
        return Err(format!("{} is not Hawser's own", path.display()));
    }
    match overrider(etc, name) {
        Some(other) => Err(format!(
            "{other} is read later and sets {name} to something else: change it there"
        )),
        None => Ok(path),
    }
}

pub(super) fn write<'a>(
    etc: &Path,
    changes: impl Iterator<Item = &'a Change>,
) -> Result<(), KernelError> {
    let path = etc.join("sysctl.d").join(FILE);
    if !is_ours(&path) {
        return Err(KernelError::Absent(format!(
            "{} is not Hawser's own any more",
            path.display()
        )));
    }
    // A later change of the same name is the one in force.
    let mut lines = BTreeMap::new();
    for change in changes {
        if let Knob::Sysctl { name } = &change.knob {
            lines.insert(name.as_str(), change);
        }
    }
    if lines.is_empty() {
        return match fs::remove_file(&path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(failed("remove", &path)(e)),
            _ => Ok(()),
        };
    }
    write_whole(&path, text(lines.values().copied()).as_bytes(), 0o644)
}

fn text<'a>(changes: impl Iterator<Item = &'a Change>) -> String {
    let mut text = HEADER.to_owned();
    for change in changes {
        if let Knob::Sysctl { name } = &change.knob {
            let Change {
                number,
                before,
                after,
                ..
            } = change;
            text.push_str(&format!(
                "\n# change {number}; was {before}\n{name} = {after}\n"
            ));
        }
    }
    text
}

fn is_ours(path: &Path) -> bool {
    match fs::read_to_string(path) {
        Ok(text) => text.starts_with(HEADER),
        Err(e) => e.kind() == io::ErrorKind::NotFound,
    }
}

/// The file of the same folder that is read after ours and sets `name`, if any. (`/etc/sysctl.conf`
/// is `99-sysctl.conf` in that folder, or read last by procps.)
fn overrider(etc: &Path, name: &str) -> Option<String> {
    let mut later: Vec<PathBuf> = fs::read_dir(etc.join("sysctl.d"))
        .into_iter()
        .flatten()
        .flatten()
        .map(|file| file.path())
        .filter(|path| path.extension().is_some_and(|e| e == "conf"))
        .filter(|path| path.file_name().is_some_and(|f| f > FILE))
        .collect();
    later.push(etc.join("sysctl.conf"));
    later.into_iter().find_map(|path| {
        let text = fs::read_to_string(&path).ok()?;
        let line = text.lines().position(|line| sets(line, name))?;
        Some(format!("{}:{}", path.display(), line + 1))
    })
}

/// Whether a line sets this sysctl; `/` and `.` mean the same, a leading `-` is allowed.
fn sets(line: &str, name: &str) -> bool {
    let Some((key, _)) = line.split_once('=') else {
        return false;
    };
    let key = key.trim().trim_start_matches('-').trim();
    key.replace('/', ".") == name.replace('/', ".")
}
