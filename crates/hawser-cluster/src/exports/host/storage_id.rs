//! What a file or device is, whatever it is called.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use hawser_files::{Expected, Folder};
use serde::{Deserialize, Serialize};

use super::mounts::{Mount, mounted};
use super::parameters::Parameters;
use crate::exports::file::{ExportsFile, parse};

/// A file of a file system, or a block device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StorageId {
    /// A file, by its file system and inode.
    File {
        /// The device number of the file system.
        dev: u64,
        /// The inode.
        ino: u64,
    },
    /// A block device, by its number.
    Device(u64),
}

/// Volumes with their paths.
pub type StorageIds = BTreeMap<StorageId, String>;

impl StorageId {
    /// What this is.
    pub fn of(about: &Metadata) -> Self {
        match about.file_type().is_block_device() {
            true => Self::Device(about.rdev()),
            false => Self::File {
                dev: about.dev(),
                ino: about.ino(),
            },
        }
    }

    /// What is at a path; `None`: nothing that can be looked at.
    pub fn at(path: impl AsRef<Path>) -> Option<Self> {
        fs::metadata(path).ok().as_ref().map(Self::of)
    }
}

/// What is at these paths.
pub fn at<'a>(paths: impl Iterator<Item = &'a str>) -> StorageIds {
    paths
        .filter_map(|path| Some((StorageId::at(path)?, path.to_owned())))
        .collect()
}

/// Everything of a pool that could be offered: all files of volumes below its root while it is mounted, and the
/// devices of its zvols and logical volumes. No program is asked, since one may wait for a pool that is gone.
pub fn of_pool(parameters: &Parameters) -> std::io::Result<StorageIds> {
    let mut all = StorageIds::new();
    let root = &parameters.root;
    let mount = match mounted(root) {
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        mount => mount?,
    };
    let zpool = mount.as_ref().and_then(Mount::zpool);
    if mount.as_ref().is_some_and(|it| parameters.has_files(it)) {
        // What lies in an exported directory is offered as no unit. A server that has it open since it was one is known by
        // its path.
        let file = exports_file(root).unwrap_or_default();
        let shared = |path: &Path| path.strip_prefix(root).is_ok_and(|name| file.shares(name));
        below(root, &shared, &|name| name.ends_with(".img"), &mut all)?;
    }
    let zpool = zpool.unwrap_or(&parameters.pool);
    devices(&Path::new("/dev/zvol").join(zpool), &mut all)?;
    if let Some(group) = &parameters.volume_group {
        devices(&Path::new("/dev").join(group), &mut all)?;
        // The volume that holds the pool's own files is none that is offered.
        let own = fs::metadata(root).map(|about| StorageId::Device(about.dev()));
        own.iter().for_each(|own| drop(all.remove(own)));
    }
    Ok(all)
}

/// What the pool says, if that can be read.
fn exports_file(root: &Path) -> Option<ExportsFile> {
    let pool = Folder::open(root).ok()?;
    let text = pool.read_text(Parameters::FILE.as_ref(), Expected::OF_ROOT);
    parse(&text.ok()??, Parameters::FILE).ok()
}

fn devices(folder: &Path, all: &mut StorageIds) -> std::io::Result<()> {
    below(folder, &|_| false, &|_| true, all)?;
    all.retain(|place, path| {
        matches!(place, StorageId::Device(_)) || !Path::new(path).starts_with(folder)
    });
    Ok(())
}

/// Clients make and remove folders while this looks, as deep as they like: what is gone, or deeper than a path may
/// be long, is none that could be offered.
fn below(
    folder: &Path,
    shared: &dyn Fn(&Path) -> bool,
    fits: &dyn Fn(&str) -> bool,
    all: &mut StorageIds,
) -> std::io::Result<()> {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        if shared(&folder) {
            continue;
        }
        let entries = match fs::read_dir(&folder) {
            Err(error) if no_volume(&error) => continue,
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let kind = match entry.file_type() {
                Err(error) if no_volume(&error) => continue,
                kind => kind?,
            };
            let (path, name) = (entry.path(), entry.file_name());
            let name = name.to_string_lossy();
            if kind.is_dir() {
                if !name.starts_with('.') && name != "lost+found" {
                    folders.push(path);
                }
            } else if fits(&name) {
                // Devices are links to what the kernel calls them; a link on a pool is no volume.
                let is_device = kind.is_symlink() && path.starts_with("/dev");
                if kind.is_file() || kind.is_block_device() || is_device {
                    all.extend(
                        StorageId::at(&path).map(|place| (place, path.display().to_string())),
                    );
                }
            }
        }
    }
    Ok(())
}

fn no_volume(error: &std::io::Error) -> bool {
    use nix::libc::{ELOOP, ENAMETOOLONG, ENOENT, ENOTDIR, ESTALE};
    matches!(
        error.raw_os_error(),
        Some(ENOENT | ENOTDIR | ENAMETOOLONG | ELOOP | ESTALE)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;

    #[test]
    fn a_tree_that_is_deeper_than_a_path_is_long_hides_no_volume() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.img"), "").unwrap();
        // A client makes it step by step, below its own folder.
        let name = "d".repeat(200);
        let script =
            format!("import os\nfor _ in range(40):\n os.mkdir('{name}')\n os.chdir('{name}')\n");
        let made = Command::new("python3")
            .args(["-c", &script])
            .current_dir(folder.path())
            .status();
        assert!(made.unwrap().success());
        let mut all = StorageIds::new();
        let images = |name: &str| name.ends_with(".img");
        below(folder.path(), &|_| false, &images, &mut all).unwrap();
        assert_eq!(all.len(), 1);
    }

    #[test]
    fn a_folder_that_clients_of_nfs_have_is_not_opened() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("home/a")).unwrap();
        fs::write(root.join("home/a/b.img"), "").unwrap();
        fs::write(root.join("c.img"), "").unwrap();
        let closed = fs::Permissions::from_mode(0o000);
        fs::set_permissions(root.join("home/a"), closed).unwrap();
        let mut all = StorageIds::new();
        below(root, &|path| path.ends_with("home"), &|_| true, &mut all).unwrap();
        let only = root.join("c.img").display().to_string();
        assert_eq!(all.into_values().collect::<Vec<_>>(), [only]);
        let open = fs::Permissions::from_mode(0o700);
        fs::set_permissions(root.join("home/a"), open).unwrap();
    }
}
