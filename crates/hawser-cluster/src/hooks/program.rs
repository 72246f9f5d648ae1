//! Whether a program is one that root may run: nobody else can have written it, or put another in its place.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use hawser_model::cluster_file::is_program_path;

/// Whose programs are run, and below which folder that is looked at.
#[derive(Clone, Debug)]
pub(super) struct Owned {
    /// The only user who may write them.
    pub owner: u32,
    /// Folders above this one are not looked at.
    pub below: PathBuf,
}

impl Default for Owned {
    /// Root's, from the root directory on.
    fn default() -> Self {
        Self {
            owner: 0,
            below: "/".into(),
        }
    }
}

/// Why root must not run this program, in words that follow its path; `None` if it may.
pub fn unfit(path: &str) -> Option<String> {
    Owned::default().unfit(path).err()
}

impl Owned {
    /// Fails with the reason, in words that follow the path.
    pub(super) fn unfit(&self, path: &str) -> Result<(), String> {
        if !is_program_path(path) {
            return Err("is not the path of a program".into());
        }
        let path = Path::new(path);
        // Where a link leads is decided by whoever can write the folder that it is in.
        self.way(path)?;
        let real = fs::canonicalize(path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => "is not there".to_owned(),
            _ => format!("cannot be looked at: {error}"),
        })?;
        self.way(&real)?;
        let about = fs::metadata(&real).map_err(|error| format!("cannot be looked at: {error}"))?;
        if !about.is_file() {
            return Err("is no regular file".into());
        }
        if about.uid() != self.owner || about.mode() & 0o022 != 0 {
            return Err(written_by_others(None, about.uid(), about.mode()));
        }
        if about.mode() & 0o111 == 0 {
            return Err(format!(
                "is not executable (mode {:04o})",
                about.mode() & 0o7777
            ));
        }
        Ok(())
    }

    /// The folders that lead to it.
    fn way(&self, path: &Path) -> Result<(), String> {
        let folders = path.ancestors().skip(1);
        for folder in folders.take_while(|folder| folder.starts_with(&self.below)) {
            let about = fs::symlink_metadata(folder).map_err(|error| match error.kind() {
                ErrorKind::NotFound => "is not there".to_owned(),
                _ => format!("cannot be looked at: {}: {error}", folder.display()),
            })?;
            // The mode of a link means nothing, and nobody but its owner can put another in its place.
            let writable = !about.is_symlink() && about.mode() & 0o022 != 0;
            if about.uid() != self.owner || writable {
                return Err(written_by_others(Some(folder), about.uid(), about.mode()));
            }
        }
        Ok(())
    }
}

fn written_by_others(folder: Option<&Path>, owner: u32, mode: u32) -> String {
    let what = match folder {
        Some(folder) => format!(
            "is in {}, which others than root can write",
            folder.display()
        ),
        None => "can be written by others than root".to_owned(),
    };
    format!("{what} (owner {owner}, mode {:04o})", mode & 0o7777)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn only_a_program_that_nobody_else_can_write_is_run() {
        let folder = tempfile::tempdir().unwrap();
        let below = folder.path().canonicalize().unwrap();
        let owned = Owned {
            owner: nix::unistd::getuid().as_raw(),
            below: below.clone(),
        };
        let mode = |path: &Path, mode: u32| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        let inner = below.join("hooks");
        fs::create_dir(&inner).unwrap();
        mode(&inner, 0o755);
        let hook = inner.join("hook");
        let said = |path: &Path| {
            owned
                .unfit(path.to_str().unwrap())
                .err()
                .unwrap_or_default()
        };
        assert_eq!(said(&hook), "is not there");
        assert_eq!(said(&below.join("none/hook")), "is not there");
        fs::write(&hook, "#!/bin/sh\n").unwrap();
        mode(&hook, 0o644);
        assert_eq!(said(&hook), "is not executable (mode 0644)");
        mode(&hook, 0o755);
        assert_eq!(said(&hook), "");
        let link = below.join("link");
        symlink(&hook, &link).unwrap();
        assert_eq!(said(&link), "");
        for bad in [0o757, 0o775] {
            mode(&hook, bad);
            assert!(
                said(&hook).starts_with("can be written by others than root"),
                "{bad:o}"
            );
        }
        mode(&hook, 0o755);
        mode(&inner, 0o1777);
        // Also by the link, whose own folder is fine.
        for path in [&hook, &link] {
            let said = said(path);
            assert!(
                said.starts_with("is in ") && said.contains("hooks, which others"),
                "{said}"
            );
        }
        mode(&inner, 0o755);
        assert_eq!(said(&inner), "is no regular file");
        let other = Owned {
            owner: owned.owner + 1,
            ..owned.clone()
        };
        assert!(other.unfit(hook.to_str().unwrap()).is_err());
    }
}
