//! What a file or device is, whatever it is called.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::mounts::mounted;
use super::parameters::Parameters;

/// A file of a file system, or a block device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
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
pub type Places = BTreeMap<Place, String>;

impl Place {
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
pub fn at<'a>(paths: impl Iterator<Item = &'a str>) -> Places {
    paths
        .filter_map(|path| Some((Place::at(path)?, path.to_owned())))
        .collect()
}

/// Everything of a pool that could be offered: all files of volumes below its root while it is mounted, and the
/// devices of its zvols and logical volumes. No program is asked, since one may wait for a pool that is gone.
pub fn of_pool(parameters: &Parameters) -> std::io::Result<Places> {
    let mut all = Places::new();
    let root = &parameters.root;
    let mount = match mounted(root) {
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        mount => mount?,
    };
    if mount.is_some() {
        below(root, &|name| name.ends_with(".img"), &mut all)?;
    }
    let zfs = mount.filter(|mount| mount.fstype == "zfs");
    let zfs = zfs.map_or(parameters.pool.clone(), |mount| mount.source);
    let zfs = zfs.split('/').next().unwrap_or_default();
    devices(&Path::new("/dev/zvol").join(zfs), &mut all)?;
    if let Some(group) = &parameters.volume_group {
        devices(&Path::new("/dev").join(group), &mut all)?;
        // The volume that holds the pool's own files is none that is offered.
        let own = fs::metadata(root).map(|about| Place::Device(about.dev()));
        own.iter().for_each(|own| drop(all.remove(own)));
    }
    Ok(all)
}

fn devices(folder: &Path, all: &mut Places) -> std::io::Result<()> {
    below(folder, &|_| true, all)?;
    all.retain(|place, path| {
        matches!(place, Place::Device(_)) || !Path::new(path).starts_with(folder)
    });
    Ok(())
}

fn below(folder: &Path, fits: &dyn Fn(&str) -> bool, all: &mut Places) -> std::io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        if kind.is_dir() {
            below(&path, fits, all)?;
        } else if fits(&entry.file_name().to_string_lossy()) {
            // Devices are links to what the kernel calls them; a link on a pool is no volume.
            let is_device = kind.is_symlink() && path.starts_with("/dev");
            if kind.is_file() || kind.is_block_device() || is_device {
                all.extend(Place::at(&path).map(|place| (place, path.display().to_string())));
            }
        }
    }
    Ok(())
}
