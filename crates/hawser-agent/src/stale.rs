//! Executables of other versions that earlier coordinators left on this node.
//!
//! They lie beside our own as `hawser-<sha256>`, or `hawser-<sha256>.<pid>` while one is being
//! copied. Whatever is not running and has not been used for a while is removed.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use hawser_host::sent_copy;
use hawser_tool::processes;

/// A start touches its executable first, so a younger one may belong to a coordinator that is
/// just now about to run it, or is copying it.
const YOUNG: Duration = Duration::from_secs(600);

/// Cleans the directory this program runs from, if it was copied there by a coordinator.
pub(crate) fn remove_beside_own() {
    let Some(own) = sent_copy::own() else {
        return;
    };
    if let Some(directory) = own.parent() {
        remove(directory, &own, &running(), SystemTime::now());
    }
}

/// Removes copies in `directory` but `own`, those running and those used after `now − YOUNG`.
/// What cannot be removed stays: it costs memory or disk, nothing else.
fn remove(directory: &Path, own: &Path, running: &BTreeSet<PathBuf>, now: SystemTime) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        let old = entry
            .metadata()
            .and_then(|m| m.modified())
            .is_ok_and(|used| now.duration_since(used).is_ok_and(|age| age > YOUNG));
        if sent_copy::is_name(&entry.file_name()) && old && path != own && !running.contains(&path)
        {
            let _ = fs::remove_file(path);
        }
    }
}

/// The executables of all processes we can see.
fn running() -> BTreeSet<PathBuf> {
    let all = processes::all().unwrap_or_default().into_iter();
    all.filter_map(|process| fs::read_link(process.folder().join("exe")).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_old_copies_that_do_not_run_are_removed() {
        let directory = tempfile::tempdir().unwrap();
        let name = |digit: char, tail: &str| {
            let path = directory
                .path()
                .join(format!("hawser-{}{tail}", digit.to_string().repeat(64)));
            fs::write(&path, "").unwrap();
            path
        };
        let own = name('a', "");
        let stale = name('b', "");
        let running = name('c', "");
        let broken_off = name('d', ".4711");
        let notes = directory.path().join("hawser-notes.txt");
        fs::write(&notes, "").unwrap();
        let all = BTreeSet::from([running.clone()]);

        remove(directory.path(), &own, &all, SystemTime::now());
        assert!(stale.exists(), "it is young");

        remove(directory.path(), &own, &all, SystemTime::now() + 2 * YOUNG);
        assert!(!stale.exists() && !broken_off.exists());
        assert!(own.exists() && running.exists() && notes.exists());
    }
}
