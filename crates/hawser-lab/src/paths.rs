//! Where labs keep their files.
//!
//! ```text
//! /var/lib/hawser/labs/            or $HAWSER_LAB_DIR, or in a container /dev/shm/hawser/labs
//!     machine.json  machine.lock   machine-wide settings changed by labs, while any is
//!     NAME.lock                    held by the one command that changes the lab
//!     NAME/lab.json                what the lab is and which processes are its own
//!     NAME/bin/hawser              the binary its nodes run and see
//!     NAME/nodes/NODE/etc.upper …  what a node wrote to /etc and /var: survives power cycles
//!     NAME/nodes/NODE/console.log  what the node's first process said
//!     NAME/admin/hawser.toml …     a cluster lab's file and secrets, as on an operator's machine
//!     NAME/bmc/NODE/ …             a BMC's configuration and log
//!     NAME/shelves/ …              the disks that all heads see
//! ```

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use nix::sys::statfs::{OVERLAYFS_SUPER_MAGIC, statfs};

use crate::error::LabError;
use crate::name::LabName;

/// The variable that moves all labs to another folder.
pub const DIR_VARIABLE: &str = "HAWSER_LAB_DIR";
const DEFAULT: &str = "/var/lib/hawser/labs";
/// Where the default lies on an overlay, as in a container: that cannot carry another overlay's
/// upper layer, a tmpfs can.
const IN_CONTAINER: &str = "/dev/shm/hawser/labs";

/// The folder in which all labs have theirs.
pub fn labs_folder() -> PathBuf {
    Root::from_environment().0
}

/// The names of the labs of this machine; none where they cannot be read.
pub fn names() -> Vec<LabName> {
    Root::from_environment().labs().unwrap_or_default()
}

/// The folder of all labs.
#[derive(Clone, Debug)]
pub(crate) struct Root(PathBuf);

impl Root {
    /// `$HAWSER_LAB_DIR`, or the default of this machine.
    pub fn from_environment() -> Self {
        let path = std::env::var_os(DIR_VARIABLE)
            .filter(|v| !v.is_empty())
            .map_or_else(default, PathBuf::from);
        Self(std::path::absolute(&path).unwrap_or(path))
    }

    /// This folder.
    #[cfg(test)]
    pub fn at(folder: &Path) -> Self {
        Self(folder.to_owned())
    }

    pub fn lab(&self, name: &LabName) -> LabDir {
        LabDir(self.0.join(name.as_str()))
    }

    pub fn lock(&self, name: &LabName) -> PathBuf {
        self.0.join(format!("{name}.lock"))
    }

    pub fn machine_lock(&self) -> PathBuf {
        self.0.join("machine.lock")
    }

    pub fn machine_state(&self) -> PathBuf {
        self.0.join("machine.json")
    }

    /// The names of all folders that can be a lab's, sorted.
    pub fn labs(&self) -> Result<Vec<LabName>, LabError> {
        let entries = match fs::read_dir(&self.0) {
            Ok(entries) => entries,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(e) => return Err(LabError::io("read the folder", &self.0, e)),
        };
        let mut names: Vec<LabName> = entries
            .filter_map(Result::ok)
            .filter(|entry| entry.file_type().is_ok_and(|t| t.is_dir()))
            .filter_map(|entry| LabName::new(entry.file_name().to_str()?).ok())
            .collect();
        names.sort();
        Ok(names)
    }

    /// Removes the folder of all labs when the last one is gone. The parent, which other parts
    /// of Hawser may use, goes only when it is empty too and is a default one.
    pub fn remove_if_empty(&self) {
        let ours = [DEFAULT, IN_CONTAINER]
            .map(Path::new)
            .contains(&self.0.as_path());
        if fs::remove_dir(&self.0).is_ok() && ours {
            if let Some(parent) = self.0.parent() {
                let _not_empty = fs::remove_dir(parent);
            }
        }
    }
}

fn default() -> PathBuf {
    let there = Path::new(DEFAULT).ancestors().find(|path| path.exists());
    let kind = there
        .and_then(|path| statfs(path).ok())
        .map(|fs| fs.filesystem_type());
    let on_overlay = kind == Some(OVERLAYFS_SUPER_MAGIC);
    PathBuf::from(if on_overlay { IN_CONTAINER } else { DEFAULT })
}

/// The folder of one lab.
#[derive(Clone, Debug)]
pub(crate) struct LabDir(pub PathBuf);

impl LabDir {
    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn state(&self) -> PathBuf {
        self.0.join("lab.json")
    }

    pub fn bin(&self) -> PathBuf {
        self.0.join("bin")
    }

    pub fn binary(&self) -> PathBuf {
        self.bin().join("hawser")
    }

    /// The folder of a node, or of the switches (`@switches`, which no node can be named).
    pub fn node(&self, name: &str) -> PathBuf {
        self.0.join("nodes").join(name)
    }

    /// The folder of a node's BMC.
    pub fn bmc(&self, node: &str) -> PathBuf {
        self.0.join("bmc").join(node)
    }

    /// The disks that all heads see.
    pub fn shelves(&self) -> PathBuf {
        self.0.join("shelves")
    }

    /// What stands for the root of the machine that the cluster is administered from.
    pub fn admin(&self) -> PathBuf {
        self.0.join("admin")
    }

    pub fn console(&self, name: &str) -> PathBuf {
        self.node(name).join("console.log")
    }
}
