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

use std::ffi::OsString;
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

    /// The names of all labs, sorted. A folder with somebody else's files is none; of one that cannot be read, nobody
    /// knows.
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
            .filter(|name| !matches!(self.lab(name).foreign(), Ok(Some(_))))
            .collect();
        names.sort();
        Ok(names)
    }

    /// Removes the folder of all labs when the last one is gone, and the parent, which other parts of Hawser may use,
    /// when that is empty too. One that its owner has named ([`DIR_VARIABLE`]) is not Hawser's to remove.
    pub fn remove_if_empty(&self) {
        let ours = [DEFAULT, IN_CONTAINER]
            .map(Path::new)
            .contains(&self.0.as_path());
        if ours && fs::remove_dir(&self.0).is_ok() {
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

/// The names in a folder; none if it is not there.
fn names_in(folder: &Path) -> Result<Vec<OsString>, LabError> {
    let failed = |e| LabError::io("read the folder", folder, e);
    match fs::read_dir(folder) {
        Ok(entries) => entries
            .map(|entry| Ok(entry.map_err(failed)?.file_name()))
            .collect(),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(e) => Err(failed(e)),
    }
}

/// The file by which a lab's folder is known as one.
const STATE: &str = "lab.json";
const BIN: &str = "bin";
const PROGRAMS: [&str; 2] = ["hawser", "hawser-client"];

/// The folder of one lab.
#[derive(Clone, Debug)]
pub(crate) struct LabDir(pub PathBuf);

impl LabDir {
    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn state(&self) -> PathBuf {
        self.0.join(STATE)
    }

    /// What lies there that no lab leaves. A lab's folder has a state from first to last; without one it is a lab's only if
    /// an `up` was killed before it had written that.
    pub fn foreign(&self) -> Result<Option<PathBuf>, LabError> {
        let has_state = || self.state().symlink_metadata().is_ok();
        if has_state() {
            return Ok(None);
        }
        let mut found = Vec::new();
        for name in names_in(&self.0)? {
            if name == BIN && self.bin().is_dir() {
                let mut inside = names_in(&self.bin())?;
                inside.retain(|it| !PROGRAMS.iter().any(|program| it == program));
                found.extend(inside.iter().map(|it| Path::new(BIN).join(it)));
            } else if !hawser_files::is_unplaced(&name) {
                found.push(PathBuf::from(name));
            }
        }
        // An `up` may have written its state after the first look.
        Ok(found.into_iter().min().filter(|_| !has_state()))
    }

    /// Fails if it is not a lab's.
    pub fn check_own(&self) -> Result<(), LabError> {
        match self.foreign()? {
            None => Ok(()),
            Some(found) => Err(LabError::NotALab {
                path: self.0.clone(),
                found,
            }),
        }
    }

    /// Removes it with all that it holds, the state last: whoever is killed meanwhile leaves a folder that is still known as
    /// a lab's.
    pub fn remove(&self) -> Result<(), LabError> {
        for name in names_in(&self.0)? {
            let path = self.0.join(&name);
            let about = path.symlink_metadata();
            let removed = match about.map(|it| it.is_dir()) {
                _ if name == STATE => Ok(()),
                Ok(true) => fs::remove_dir_all(&path),
                Ok(false) => fs::remove_file(&path),
                Err(e) => Err(e),
            };
            match removed {
                Err(e) if e.kind() != io::ErrorKind::NotFound => {
                    return Err(LabError::io("remove", &path, e));
                }
                _ => {}
            }
        }
        fs::remove_dir_all(&self.0).map_err(|e| LabError::io("remove", &self.0, e))
    }

    pub fn bin(&self) -> PathBuf {
        self.0.join(BIN)
    }

    pub fn binary(&self) -> PathBuf {
        self.bin().join(PROGRAMS[0])
    }

    /// The verifying client, which is a program of its own.
    pub fn client(&self) -> PathBuf {
        self.bin().join(PROGRAMS[1])
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

#[cfg(test)]
mod tests {
    use nix::mount::{MntFlags, MsFlags, mount, umount2};

    use super::*;
    use crate::own_mounts::in_own_mounts;

    fn lab_of(files: &[&str]) -> (tempfile::TempDir, LabDir) {
        let labs = tempfile::tempdir().unwrap();
        let lab = LabDir(labs.path().join("demo"));
        fs::create_dir(lab.path()).unwrap();
        for file in files {
            let path = lab.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "somebody's").unwrap();
        }
        (labs, lab)
    }

    #[test]
    fn a_folder_with_files_of_somebody_else_is_no_lab() {
        let foreign = |files: &[&str]| lab_of(files).1.foreign().unwrap();
        for whose in [
            &["vault.db"][..],
            &["bin/backup"],
            &["nodes/a", "bin/hawser"],
        ] {
            assert!(foreign(whose).is_some(), "{whose:?}");
        }
        let left = ".0123456789abcdef.hawser-new";
        for ours in [&[][..], &["lab.json", "nodes/a"], &["bin/hawser", left]] {
            assert_eq!(foreign(ours), None, "{ours:?}");
        }
    }

    #[test]
    fn labs_are_named_and_other_folders_are_not() {
        let (labs, _) = lab_of(&["vault.db"]);
        let lab = LabDir(labs.path().join("one"));
        fs::create_dir(lab.path()).unwrap();
        fs::write(lab.state(), "{}").unwrap();
        let names = Root::at(labs.path()).labs().unwrap();
        assert_eq!(names, [LabName::new("one").unwrap()]);
    }

    #[test]
    fn a_folder_of_labs_that_its_owner_has_named_stays() {
        let labs = tempfile::tempdir().unwrap();
        Root::at(labs.path()).remove_if_empty();
        assert!(labs.path().exists());
    }

    #[test]
    fn a_lab_whose_removal_stops_halfway_is_still_known_as_one() {
        in_own_mounts(|| {
            let (_labs, lab) = lab_of(&["lab.json", "nodes/a/console.log", "shelves/disk"]);
            // A folder on which something is mounted cannot be removed.
            let (busy, bind) = (lab.shelves(), MsFlags::MS_BIND);
            mount(Some(&busy), &busy, None::<&str>, bind, None::<&str>).unwrap();
            lab.remove().unwrap_err();
            assert!(lab.state().exists() && lab.foreign().unwrap().is_none());
            umount2(&busy, MntFlags::MNT_DETACH).unwrap();
            lab.remove().unwrap();
            assert!(!lab.path().exists());
        });
    }
}
