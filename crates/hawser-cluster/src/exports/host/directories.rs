//! The directories of a pool that are offered by NFS.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use hawser_files::{FileError, Folder};
use hawser_model::mountinfo;

use super::list::ListError;
use super::mounts::{Mount, is_mounted};
use super::parameters::Parameters;
use super::volumes::file_identity;
use super::zfs::{FileSystem, file_systems, left_to_others, not_mounted};
use crate::exports::file::ExportsFile;
use crate::exports::nfs::Directory;
use crate::exports::resolve::ExportsError;

/// A directory that cannot be offered.
#[derive(Debug, thiserror::Error)]
pub enum DirectoriesError {
    /// It is not what the file says.
    #[error(transparent)]
    Exports(#[from] ExportsError),
    /// It cannot be looked at.
    #[error(transparent)]
    File(#[from] FileError),
    /// ZFS does not list its file systems.
    #[error(transparent)]
    List(#[from] ListError),
}

/// All that the file names, each once.
pub fn find(
    parameters: &Parameters,
    mount: &Mount,
    file: &ExportsFile,
) -> Result<Vec<Directory>, DirectoriesError> {
    if file.nfs.is_empty() {
        return Ok(Vec::new());
    }
    let zfs = mount.zpool().map_or(Ok(Vec::new()), file_systems)?;
    let mounts = mountinfo::OWN;
    let mounts = fs::read_to_string(mounts).map_err(FileError::io("read", mounts))?;
    look(parameters, file, &zfs, &mounts)
}

fn look(
    parameters: &Parameters,
    file: &ExportsFile,
    zfs: &[FileSystem],
    mounts: &str,
) -> Result<Vec<Directory>, DirectoriesError> {
    let mut directories: Vec<Directory> = Vec::new();
    let root = &parameters.root;
    let pool = Folder::open(root)?;
    let real = fs::canonicalize(root).map_err(FileError::io("realpath", root))?;
    for entry in &file.nfs {
        let name = entry.directory.to_string();
        if directories.iter().any(|known| known.name == name) {
            continue;
        }
        let absent = || ExportsError::NoDirectory {
            pool: parameters.pool.clone(),
            directory: name.clone(),
        };
        let below = pool.below(Path::new(&name)).map_err(|error| match &error {
            FileError::Kind { found, .. } if *found == "symbolic link" => {
                ExportsError::Link(name.clone()).into()
            }
            FileError::Kind { .. } => DirectoriesError::from(absent()),
            FileError::Io { source, .. } if source.kind() == ErrorKind::NotFound => absent().into(),
            _ => error.into(),
        })?;
        let about = below.metadata()?;
        let path = match name.as_str() {
            "." => real.clone(),
            name => real.join(name),
        };
        // What is seen below its mount point looks like an empty directory of the pool.
        if let Some(missing) = not_mounted(zfs, mounts, &path) {
            return Err(DirectoriesError::from(ExportsError::NotMounted {
                directory: name,
                dataset: missing.name.clone(),
                why: missing.why,
            }));
        }
        let hides =
            left_to_others(zfs, mounts).filter(|_| !is_mounted(mounts, &path.to_string_lossy()));
        directories.push(Directory {
            not_mounted: hides.map(|it| it.name.clone()),
            identity: file_identity(&about, &name),
            // mountd looks for what a client asks for by its real name.
            path: path.display().to_string(),
            name,
        });
    }
    Ok(directories)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use hawser_model::cluster_file::Backend;

    use super::super::zfs::listed;
    use super::*;
    use crate::exports::file::parse;

    #[test]
    fn a_directory_is_below_the_pool_and_no_name_on_the_way_is_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        fs::create_dir_all(root.join("home/a")).unwrap();
        fs::write(root.join("file"), "").unwrap();
        symlink("home", root.join("link")).unwrap();
        let parameters = Parameters {
            pool: "tank".into(),
            root: root.clone(),
            authority: String::new(),
            portals: Vec::new(),
            backend: Backend::Tgt,
            volume_group: None,
        };
        let look_at = |name: &str, zfs: &[FileSystem], mounts: &str| {
            let text =
                format!("[[nfs]]\ndirectory = \"{name}\"\nclients = [\"*\"]\noptions = \"ro\"\n");
            let file = parse(&text, "exports.toml").unwrap();
            super::look(&parameters, &file, zfs, mounts).map_err(|error| error.to_string())
        };
        let look = |name: &str| look_at(name, &[], "");
        let below = look("home/a").unwrap().remove(0);
        assert_eq!(below.path, root.join("home/a").display().to_string());
        assert_eq!(look(".").unwrap()[0].path, root.display().to_string());
        for (name, why) in [
            ("link/a", ExportsError::Link("link/a".into())),
            ("link", ExportsError::Link("link".into())),
            (
                "file",
                ExportsError::NoDirectory {
                    pool: "tank".into(),
                    directory: "file".into(),
                },
            ),
            (
                "gone",
                ExportsError::NoDirectory {
                    pool: "tank".into(),
                    directory: "gone".into(),
                },
            ),
        ] {
            assert_eq!(look(name).unwrap_err(), why.to_string());
        }

        // A file system of ZFS that is to be mounted there, and is not.
        let (pool, home) = (root.display(), root.join("home"));
        let home = home.display();
        let text = format!("tank\ton\t-\t{pool}\ntank/home\ton\tunavailable\t{home}\n");
        let zfs = listed(&text).unwrap();
        let mounts = format!("40 22 0:32 / {pool} rw - zfs tank rw\n");
        let refused = look_at("home/a", &zfs, &mounts).unwrap_err();
        let named = "directory \"home/a\" is in the ZFS file system tank/home, which is not mounted (its key is not loaded)";
        assert!(refused.starts_with(named), "{refused}");
        let mounts = format!("{mounts}41 40 0:33 / {home} rw - zfs tank/home rw\n");
        assert_eq!(look_at("home/a", &zfs, &mounts).unwrap(), [below]);

        // Any folder may be where one belongs that ZFS does not mount.
        let zfs = listed("tank/mail\ton\t-\tlegacy\n").unwrap();
        let hides = |mounts: &str| {
            look_at("home", &zfs, mounts).unwrap()[0]
                .not_mounted
                .clone()
        };
        assert_eq!(hides("").as_deref(), Some("tank/mail"));
        let mounts = format!("41 40 0:33 / {home} rw - zfs tank/mail rw\n");
        assert_eq!(hides(&mounts), None);
    }
}
