//! The files by which a head offers volumes and directories without Hawser: tgt's, targetcli's and the NFS server's.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use hawser_files::{Expected, FileError, Folder};
use serde::{Deserialize, Serialize};

use super::{Content, NodeError};
use crate::exports::nfs::is_kept;

/// `/etc/exports` (exports(5)).
pub const EXPORTS: &str = "/etc/exports";

/// tgt's (targets.conf(5)).
pub const TARGETS_CONF: &str = "/etc/tgt/targets.conf";

/// targetcli's, where distributions have it; what the first has counts.
pub const SAVECONFIGS: [&str; 2] = [
    "/etc/rtslib-fb-target/saveconfig.json",
    "/etc/target/saveconfig.json",
];

/// Folders whose files count too, by the end of their names: Debian's targets.conf includes `conf.d/*.conf`, and exportfs
/// reads `*.exports`.
const FOLDERS: [(&str, &str); 2] = [("/etc/tgt/conf.d", ".conf"), ("/etc/exports.d", ".exports")];

/// Files of one folder.
const MOST: usize = 200;

/// Bytes of one: four digits and a comma each, they fit into a frame.
const LARGEST: u64 = 3 << 20;

/// One of these files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OffersFile {
    /// There is none.
    Absent,
    /// What is in it: passwords too.
    Read(Content),
    /// Why it was not read: a link, too large, or somebody else can write it.
    Refused(String),
}

/// The paths of those that are there, in the order in which they are read.
///
/// # Errors
/// A folder cannot be listed, or has more files than anybody has.
pub(super) fn list() -> Result<Vec<String>, NodeError> {
    list_in(Path::new("/"))
}

/// Reads one of them. No link is followed.
///
/// # Errors
/// It is none of them.
pub(super) fn read(path: &str) -> Result<OffersFile, NodeError> {
    read_in(Path::new("/"), 0, path)
}

fn list_in(root: &Path) -> Result<Vec<String>, NodeError> {
    let mut all = Vec::new();
    let there = |path: &&str| below(root, path).symlink_metadata().is_ok();
    all.extend(SAVECONFIGS.into_iter().find(there).map(str::to_owned));
    all.extend(Some(TARGETS_CONF).filter(there).map(str::to_owned));
    all.extend(files_of(root, FOLDERS[0])?);
    all.extend(Some(EXPORTS).filter(there).map(str::to_owned));
    all.extend(files_of(root, FOLDERS[1])?);
    Ok(all)
}

fn files_of(root: &Path, (folder, end): (&str, &str)) -> Result<Vec<String>, NodeError> {
    let opened = match Folder::open(&below(root, folder)) {
        Err(e) if e.os().is_some_and(|e| e.kind() == ErrorKind::NotFound) => return Ok(Vec::new()),
        outcome => outcome?,
    };
    let names = opened.names()?.into_iter();
    let mut paths: Vec<String> = names
        .filter_map(|name| Some(format!("{folder}/{}", name.to_str()?)))
        .filter(|path| in_folder(path, folder, end))
        // Those of pools that are active now: no boot offers what is in them.
        .filter(|path| !is_kept(&below(root, path)))
        .collect();
    if paths.len() > MOST {
        let why = std::io::Error::other(format!("{} files; at most {MOST} are read", paths.len()));
        return Err(FileError::io("list", folder)(why).into());
    }
    paths.sort();
    Ok(paths)
}

fn read_in(root: &Path, owner: u32, path: &str) -> Result<OffersFile, NodeError> {
    let fixed = SAVECONFIGS.iter().chain([&TARGETS_CONF, &EXPORTS]);
    let known = fixed.into_iter().any(|known| *known == path)
        || FOLDERS
            .iter()
            .any(|(folder, end)| in_folder(path, folder, end));
    if !known {
        return Err(NodeError::NotOffers(path.to_owned()));
    }
    let expected = Expected {
        owner,
        limit: LARGEST,
        private: false,
    };
    Ok(match hawser_files::read(&below(root, path), expected) {
        Ok(None) => OffersFile::Absent,
        Ok(Some(bytes)) => OffersFile::Read(Content(bytes)),
        Err(e) => OffersFile::Refused(e.to_string()),
    })
}

/// A file of this folder and no other, that is not hidden.
fn in_folder(path: &str, folder: &str, end: &str) -> bool {
    let name = path
        .strip_prefix(folder)
        .and_then(|rest| rest.strip_prefix('/'));
    name.is_some_and(|name| {
        let mut parts = Path::new(name).components();
        let plain = matches!((parts.next(), parts.next()), (Some(Component::Normal(only)), None) if only == OsStr::new(name));
        plain && name.ends_with(end) && !name.starts_with('.') && !name.contains(char::is_control)
    })
}

fn below(root: &Path, path: &str) -> PathBuf {
    root.join(path.trim_start_matches('/'))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use nix::unistd::geteuid;

    use super::*;

    fn written(root: &Path, path: &str, text: &str) {
        let path = below(root, path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn refused(root: &Path, path: &str) -> String {
        match read_in(root, geteuid().as_raw(), path).unwrap() {
            OffersFile::Refused(why) => why,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_is_there_is_listed_in_order_and_read() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        assert_eq!(list_in(root).unwrap(), [""; 0]);
        for path in [
            "/etc/exports",
            "/etc/exports.d/b.exports",
            "/etc/exports.d/notes",
            "/etc/exports.d/.a.exports",
            "/etc/tgt/conf.d/b.conf",
            "/etc/tgt/conf.d/a.conf",
            "/etc/tgt/conf.d/a.conf.dpkg-old",
            "/etc/tgt/targets.conf",
            "/etc/target/saveconfig.json",
        ] {
            written(root, path, path);
        }
        // What a pool that is active offers is no file of its administrator's.
        let kept = below(root, "/etc/exports.d/hawser-tank.exports");
        symlink("/run/hawser/nfs/tank.exports", kept).unwrap();
        let all = [
            "/etc/target/saveconfig.json",
            "/etc/tgt/targets.conf",
            "/etc/tgt/conf.d/a.conf",
            "/etc/tgt/conf.d/b.conf",
            "/etc/exports",
            "/etc/exports.d/b.exports",
        ];
        assert_eq!(list_in(root).unwrap(), all);
        for path in all {
            let read = read_in(root, geteuid().as_raw(), path).unwrap();
            assert_eq!(read, OffersFile::Read(Content(path.into())));
            // It may have a password.
            assert!(!format!("{read:?}").contains("etc"));
        }
        // targetcli's own path counts before the older one.
        written(root, SAVECONFIGS[0], "{}");
        assert_eq!(list_in(root).unwrap()[0], SAVECONFIGS[0]);
        let absent = read_in(root, 0, "/etc/tgt/conf.d/c.conf").unwrap();
        assert_eq!(absent, OffersFile::Absent);
    }

    #[test]
    fn no_link_is_followed_and_nothing_is_read_that_others_can_write_or_that_is_too_large() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        written(root, "/etc/shadow", "root:secret");
        symlink(below(root, "/etc/shadow"), below(root, EXPORTS)).unwrap();
        assert!(list_in(root).unwrap().contains(&EXPORTS.to_owned()));
        assert!(refused(root, EXPORTS).contains("symbolic link"));
        written(root, TARGETS_CONF, "");
        let path = below(root, TARGETS_CONF);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        assert!(refused(root, TARGETS_CONF).contains("mode 0666"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let file = fs::File::create(&path).unwrap();
        file.set_len(LARGEST + 1).unwrap();
        assert!(refused(root, TARGETS_CONF).contains("more than"));
    }

    #[test]
    fn no_other_file_is_read() {
        for path in [
            "/etc/shadow",
            "/etc/tgt/conf.d/../../shadow",
            "/etc/tgt/conf.d/a/b.conf",
            "/etc/tgt/conf.d/.conf",
            "/etc/tgt/conf.d/",
            "/etc/exports.d/a",
            "/etc/exports/",
            "etc/exports",
            "",
        ] {
            assert!(read(path).is_err(), "{path}");
        }
    }

    #[test]
    fn a_folder_without_an_end_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        for i in 0..=MOST {
            written(folder.path(), &format!("/etc/tgt/conf.d/{i}.conf"), "");
        }
        let said = list_in(folder.path()).unwrap_err().to_string();
        assert!(said.contains("201 files; at most 200"), "{said}");
    }
}
