//! The files that Hawser writes on a node, and no others.

use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Component, Path};

use super::{Content, NodeError, OwnedFile};
use crate::cib::secrets::{PACEMAKER_SECRETS, SECRET_DIRECTORY, WRAPPER_DIRECTORY};
use crate::plan::{AUTHKEY, COROSYNC_CONF};
use crate::units::{ALERT, DROP_IN, WATCH_FILE};

/// None of these files comes near it.
const LARGEST: u64 = 1 << 20;

/// Reads one of them; `None` when there is none.
pub(super) fn read(path: &str) -> Result<Option<OwnedFile>, NodeError> {
    ours(path)?;
    let failed = |call| NodeError::file(call, path);
    let file = match File::open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(failed("open")(e)),
    };
    let mode = file
        .metadata()
        .map_err(failed("stat"))?
        .permissions()
        .mode()
        & 0o7777;
    let mut content = Vec::new();
    let mut file = file.take(LARGEST);
    file.read_to_end(&mut content).map_err(failed("read"))?;
    Ok(Some(OwnedFile {
        mode,
        content: Content(content),
    }))
}

/// Writes one of them as a whole: whoever reads sees the old one or the new one.
pub(super) fn write(path: &str, file: &OwnedFile) -> Result<(), NodeError> {
    ours(path)?;
    place(Path::new(path), file)
}

/// Removes one of them, if it is there.
pub(super) fn remove(path: &str) -> Result<(), NodeError> {
    ours(path)?;
    match fs::remove_file(path) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(NodeError::file("remove", path)(e)),
        _ => Ok(()),
    }
}

/// Writes a file, making the folders above it, which only root may enter.
pub(super) fn place(path: &Path, file: &OwnedFile) -> Result<(), NodeError> {
    if let Some(folder) = path.parent() {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o755)
            .create(folder)
            .map_err(NodeError::file("create the folder of", path))?;
    }
    Ok(hawser_files::replace(path, &file.content.0, file.mode)?)
}

fn ours(path: &str) -> Result<(), NodeError> {
    let below = |folder: &str| {
        let rest = path
            .strip_prefix(folder)
            .and_then(|rest| rest.strip_prefix('/'));
        let plain = |rest: &str| {
            Path::new(rest)
                .components()
                .all(|part| matches!(part, Component::Normal(_)))
        };
        rest.is_some_and(|rest| !rest.is_empty() && plain(rest))
    };
    let known = [SECRET_DIRECTORY, WRAPPER_DIRECTORY, PACEMAKER_SECRETS];
    match [AUTHKEY, COROSYNC_CONF, DROP_IN, WATCH_FILE, ALERT].contains(&path)
        || known.iter().any(|folder| below(folder))
    {
        true => Ok(()),
        false => Err(NodeError::NotOurs(path.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_hawsers_own_files_are_touched() {
        assert!(ours(AUTHKEY).is_ok());
        assert!(ours("/etc/hawser/secrets/fence-head1").is_ok());
        for path in [
            "/etc/shadow",
            "/etc/hawser/secrets/../../shadow",
            "/etc/hawser/secrets/",
            "/etc/hawser/secretsX/a",
            "/etc/corosync/authkey/../x",
        ] {
            assert!(ours(path).is_err(), "{path}");
        }
    }

    #[test]
    fn a_file_is_written_whole_with_its_mode_over_what_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b");
        for (text, mode) in [("one", 0o644), ("two", 0o400)] {
            let content = Content(text.into());
            place(&path, &OwnedFile { mode, content }).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
            let found = fs::metadata(&path).unwrap().permissions().mode() & 0o7777;
            assert_eq!(found, mode);
        }
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn what_is_in_a_file_is_never_printed() {
        let file = OwnedFile {
            mode: 0o600,
            content: Content(b"hunter2".to_vec()),
        };
        assert!(!format!("{file:?}").contains("hunter2"));
        assert!(!format!("{file:?}").contains("104"));
    }
}
