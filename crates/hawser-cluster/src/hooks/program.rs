//! Whether a program is one that root may run: nobody else can have written it, or put another in its place.

use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use hawser_model::cluster_file::is_program_path;

/// So many links are followed: as many as the kernel follows.
const LINKS: usize = 40;

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
    Owned::default().program(path).err()
}

impl Owned {
    /// The program itself, without a link on the way to it: nobody but the owner can put another there between this look and
    /// its run. Fails with the reason, in words that follow the path.
    pub(super) fn program(&self, path: &str) -> Result<PathBuf, String> {
        if !is_program_path(path) {
            return Err("is not the path of a program".into());
        }
        let real = self.followed(Path::new(path))?;
        let about = looked_at(&real)?;
        if !about.is_file() {
            return Err("is no regular file".into());
        }
        if about.uid() != self.owner || about.mode() & 0o022 != 0 {
            return Err(written_by_others(None, &about));
        }
        if about.mode() & 0o111 == 0 {
            return Err(format!(
                "is not executable (mode {:04o})",
                about.mode() & 0o7777
            ));
        }
        Ok(real)
    }

    /// Where a path leads. Where a link leads is decided by whoever can write the folder that it is in, so each folder in which
    /// a name is looked up is looked at.
    fn followed(&self, path: &Path) -> Result<PathBuf, String> {
        let mut real = PathBuf::from("/");
        let mut left = names(path);
        let mut links = 0;
        while let Some(name) = left.pop() {
            self.folder(&real)?;
            if name == ".." {
                real.pop();
                continue;
            }
            let next = real.join(&name);
            if !looked_at(&next)?.is_symlink() {
                real = next;
                continue;
            }
            links += 1;
            if links > LINKS {
                return Err(format!("is behind more than {LINKS} links"));
            }
            let to = fs::read_link(&next).map_err(|error| not_looked_at(&next, &error))?;
            if to.is_absolute() {
                real = PathBuf::from("/");
            }
            left.extend(names(&to));
        }
        Ok(real)
    }

    fn folder(&self, folder: &Path) -> Result<(), String> {
        if !folder.starts_with(&self.below) {
            return Ok(());
        }
        let about = looked_at(folder)?;
        if about.uid() != self.owner || about.mode() & 0o022 != 0 {
            return Err(written_by_others(Some(folder), &about));
        }
        Ok(())
    }
}

/// The names in a path, the first one last.
fn names(path: &Path) -> Vec<OsString> {
    let parts = path.components().rev();
    let names = parts.filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
    names.map(|part| part.as_os_str().to_owned()).collect()
}

fn looked_at(path: &Path) -> Result<Metadata, String> {
    fs::symlink_metadata(path).map_err(|error| not_looked_at(path, &error))
}

fn not_looked_at(path: &Path, error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "is not there".to_owned(),
        _ => format!("cannot be looked at: {}: {error}", path.display()),
    }
}

fn written_by_others(folder: Option<&Path>, about: &Metadata) -> String {
    let what = match folder {
        Some(folder) => format!(
            "is in {}, which others than root can write",
            folder.display()
        ),
        None => "can be written by others than root".to_owned(),
    };
    let mode = about.mode() & 0o7777;
    format!("{what} (owner {}, mode {mode:04o})", about.uid())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn below(folder: &tempfile::TempDir) -> Owned {
        Owned {
            owner: nix::unistd::getuid().as_raw(),
            below: folder.path().canonicalize().unwrap(),
        }
    }

    #[test]
    fn only_a_program_that_nobody_else_can_write_is_run() {
        let folder = tempfile::tempdir().unwrap();
        let owned = below(&folder);
        let below = &owned.below;
        let inner = below.join("hooks");
        fs::create_dir(&inner).unwrap();
        mode(&inner, 0o755);
        let hook = inner.join("hook");
        let said = |path: &Path| {
            owned
                .program(path.to_str().unwrap())
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
        assert!(other.program(hook.to_str().unwrap()).is_err());
    }

    #[test]
    fn every_link_on_the_way_is_in_a_folder_that_nobody_else_can_write() {
        let folder = tempfile::tempdir().unwrap();
        let owned = below(&folder);
        let at = |name: &str| owned.below.join(name);
        for name in ["sbin", "ops", "lib", "lib/1"] {
            fs::create_dir(at(name)).unwrap();
            mode(&at(name), 0o755);
        }
        fs::write(at("lib/1/hook"), "#!/bin/sh\n").unwrap();
        mode(&at("lib/1/hook"), 0o755);
        // One link to the program, one to its folder, one around; each by way of another folder.
        symlink(at("lib/1/hook"), at("ops/current")).unwrap();
        symlink("../ops/current", at("sbin/hook")).unwrap();
        symlink("../lib/1", at("ops/folder")).unwrap();
        symlink(at("ops/folder"), at("sbin/folder")).unwrap();
        symlink(at("sbin/around"), at("sbin/around")).unwrap();
        let asked = |name: &str| owned.program(at(name).to_str().unwrap());
        for way in ["sbin/hook", "sbin/folder/hook"] {
            assert_eq!(asked(way), Ok(at("lib/1/hook")), "{way}");
        }
        mode(&at("ops"), 0o777);
        for way in ["sbin/hook", "sbin/folder/hook"] {
            let said = asked(way).unwrap_err();
            assert!(
                said.starts_with("is in ") && said.contains("/ops, which others"),
                "{way}: {said}"
            );
        }
        let around = asked("sbin/around").unwrap_err();
        assert_eq!(around, "is behind more than 40 links");
    }
}
