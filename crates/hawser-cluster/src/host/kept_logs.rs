//! What a watch has kept of this head's logs: the lines of each incident, so that they are still there when the logs were
//! rotated away.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{Error, ErrorKind};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

use hawser_files::{Expected, FileError, Folder};
use serde::{Deserialize, Serialize};

/// On the head's own disk, never on a pool.
const FOLDER: &str = "/var/lib/hawser/incidents";

/// Incidents that are kept; the oldest go first.
const KEPT: usize = 100;

/// Bytes of all that are read together: a message of the agent's holds 16 MiB.
const TOGETHER: u64 = 8 << 20;

/// The lines of one incident.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptLogs {
    /// Its name: digits and `-`.
    pub id: String,
    /// Lines of corosync.log.
    pub corosync: Vec<String>,
    /// Lines of pacemaker.log.
    pub pacemaker: Vec<String>,
}

impl KeptLogs {
    /// Bytes of one, as it is kept.
    pub const LARGEST: u64 = 2 << 20;
}

/// Keeps an incident; one of the same name is replaced.
///
/// # Errors
/// Its name is none, it is too large, or it cannot be written.
pub(super) fn keep(logs: &KeptLogs) -> Result<(), FileError> {
    keep_in(Path::new(FOLDER), logs)
}

/// The incidents that are kept, newest first, as many as fit together. What is no file of ours is left out.
///
/// # Errors
/// The folder cannot be read.
pub(super) fn kept() -> Result<Vec<KeptLogs>, FileError> {
    kept_in(Path::new(FOLDER))
}

fn keep_in(folder: &Path, logs: &KeptLogs) -> Result<(), FileError> {
    let path = folder.join(format!("{}.json", logs.id));
    let refused =
        |why: &str| FileError::io("keep", &path)(Error::new(ErrorKind::InvalidInput, why));
    let plain = |c: char| c.is_ascii_digit() || c == '-';
    if logs.id.is_empty() || logs.id.len() > 40 || !logs.id.chars().all(plain) {
        return Err(refused("not the name of an incident"));
    }
    let text = serde_json::to_vec(logs).map_err(|e| refused(&e.to_string()))?;
    if text.len() as u64 > KeptLogs::LARGEST {
        return Err(refused("larger than an incident may be"));
    }
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(FileError::io("create", folder))?;
    let folder = Folder::open(folder)?;
    folder.replace(OsStr::new(&format!("{}.json", logs.id)), &text, 0o600)?;
    for old in names(&folder)?.into_iter().skip(KEPT) {
        folder.remove(&old)?;
    }
    Ok(())
}

fn kept_in(folder: &Path) -> Result<Vec<KeptLogs>, FileError> {
    let folder = match Folder::open(folder) {
        Err(e) if e.os().is_some_and(|e| e.kind() == ErrorKind::NotFound) => return Ok(Vec::new()),
        outcome => outcome?,
    };
    let expected = Expected {
        owner: nix::unistd::geteuid().as_raw(),
        limit: KeptLogs::LARGEST,
        private: true,
    };
    let mut kept = Vec::new();
    let mut bytes = 0;
    for name in names(&folder)? {
        let Ok(Some(text)) = folder.read(&name, expected) else {
            continue;
        };
        bytes += text.len() as u64;
        if bytes > TOGETHER {
            break;
        }
        kept.extend(serde_json::from_slice::<KeptLogs>(&text).ok());
    }
    Ok(kept)
}

/// The names of incidents' files, newest first: a name begins with the time.
fn names(folder: &Folder) -> Result<Vec<OsString>, FileError> {
    let mut names = folder.names()?;
    names.retain(|name| name.to_str().is_some_and(|name| name.ends_with(".json")));
    names.sort();
    names.reverse();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn incident(id: &str) -> KeptLogs {
        KeptLogs {
            id: id.to_owned(),
            corosync: vec!["a".to_owned()],
            pacemaker: Vec::new(),
        }
    }

    #[test]
    fn the_newest_are_kept_and_read_first() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("below/incidents");
        assert_eq!(kept_in(&folder).unwrap(), []);
        for n in 0..KEPT + 3 {
            keep_in(&folder, &incident(&format!("20261122-{n:06}"))).unwrap();
        }
        let kept = kept_in(&folder).unwrap();
        assert_eq!(kept.len(), KEPT);
        assert_eq!(kept[0].id, format!("20261122-{:06}", KEPT + 2));
    }

    #[test]
    fn a_name_leads_nowhere_else_and_a_damaged_file_hides_no_other() {
        let dir = tempfile::tempdir().unwrap();
        for id in ["", "../x", "a", "1/2"] {
            keep_in(dir.path(), &incident(id)).unwrap_err();
        }
        keep_in(dir.path(), &incident("20261122-111412")).unwrap();
        std::fs::write(dir.path().join("20261122-111413.json"), "{").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", dir.path().join("9.json")).unwrap();
        assert_eq!(kept_in(dir.path()).unwrap(), [incident("20261122-111412")]);
    }
}
