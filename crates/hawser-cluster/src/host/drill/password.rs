//! The password of a BMC was changed and the cluster was not told: the one that this head knows is refused.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use hawser_files::{Expected, replace};

use crate::cib::secrets::SECRET_DIRECTORY;
use crate::host::NodeError;

/// The password that Pacemaker gives to a fence device.
struct Password {
    device: String,
    file: PathBuf,
    /// Where the right one is kept meanwhile.
    kept: PathBuf,
}

pub(super) fn make(device: &str) -> Result<(), NodeError> {
    Password::of(device)?.make(Expected::OF_ROOT)
}

pub(super) fn shown(device: &str) -> Result<Option<String>, NodeError> {
    Ok(Password::of(device)?.shown())
}

/// Puts the right one back, if it was taken away.
pub(super) fn mend(device: &str) -> Result<(), NodeError> {
    Password::of(device)?.mend()
}

impl Password {
    fn of(device: &str) -> Result<Self, NodeError> {
        let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if device.starts_with('.') || device.is_empty() || !device.chars().all(is_name) {
            return Err(NodeError::NotOurs(format!("{SECRET_DIRECTORY}/{device}")));
        }
        Ok(Self::in_folder(Path::new(SECRET_DIRECTORY), device))
    }

    fn in_folder(folder: &Path, device: &str) -> Self {
        Self {
            device: device.to_owned(),
            file: folder.join(device),
            kept: folder.join(format!("{device}.drill")),
        }
    }

    /// Each file is written as a whole: whenever this is killed, the right password is in one of them.
    fn make(&self, expected: Expected) -> Result<(), NodeError> {
        let about =
            fs::symlink_metadata(&self.file).map_err(NodeError::file("stat", &self.file))?;
        let mode = about.mode() & 0o7777;
        if !self.kept.exists() {
            let right = hawser_files::read(&self.file, expected)?.unwrap_or_default();
            replace(&self.kept, &right, mode)?;
        }
        Ok(replace(&self.file, b"changed\n", mode)?)
    }

    fn shown(&self) -> Option<String> {
        let device = &self.device;
        let said = || format!("the password of {device} is not the right one");
        self.kept.exists().then(said)
    }

    fn mend(&self) -> Result<(), NodeError> {
        match self.kept.exists() {
            true => {
                fs::rename(&self.kept, &self.file).map_err(NodeError::file("rename", &self.kept))
            }
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_password_of_a_device_is_touched() {
        for name in ["", "..", "../../shadow", "a/b", ".x", "fence-a\n"] {
            assert!(
                matches!(Password::of(name), Err(NodeError::NotOurs(_))),
                "{name:?}"
            );
        }
        let password = Password::of("fence-head1").unwrap();
        assert!(password.file.ends_with("fence-head1"));
    }

    #[test]
    fn the_right_password_is_always_in_one_of_the_files() {
        let folder = tempfile::tempdir().unwrap();
        let password = Password::in_folder(folder.path(), "fence-head1");
        let ours = Expected {
            owner: nix::unistd::geteuid().as_raw(),
            ..Expected::OF_ROOT
        };
        replace(&password.file, b"right\n", 0o600).unwrap();
        let text = |path: &Path| fs::read_to_string(path).unwrap_or_default();
        // One who reads it meanwhile, by a descriptor that he has, finds it whole: nothing is written in its place.
        let mut reader = fs::File::open(&password.file).unwrap();
        password.make(ours).unwrap();
        assert_eq!(std::io::read_to_string(&mut reader).unwrap(), "right\n");
        // A second time, after a drill that was killed.
        password.make(ours).unwrap();
        assert_eq!(text(&password.file), "changed\n");
        assert_eq!(text(&password.kept), "right\n");
        assert!(password.shown().is_some());
        password.mend().unwrap();
        password.mend().unwrap();
        assert_eq!(text(&password.file), "right\n");
        let mode = fs::metadata(&password.file).unwrap().mode();
        assert_eq!(mode & 0o7777, 0o600);
        assert!(password.shown().is_none());
    }
}
