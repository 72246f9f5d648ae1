//! The way to a folder that a person has named, through folders where others may write.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path};

use nix::errno::Errno;
use nix::fcntl::{OFlag, openat, readlinkat};
use nix::sys::stat::Mode;
use nix::unistd::geteuid;

use crate::{FileError, Folder};

/// As many as the kernel follows (path_resolution(7)).
const LINKS: usize = 40;

impl Folder {
    /// Opens a folder step by step. A link on the way, the last name included, is followed when it is
    /// root's or ours; of anybody else's nobody knows where it leads by the time it is used.
    ///
    /// # Errors
    /// It is not there, is no folder, or a link of somebody else's is on the way.
    pub fn walk(path: &Path) -> Result<Self, FileError> {
        Self::walk_trusting(path, trusted())
    }

    /// The same, where links of these users are followed.
    pub(crate) fn walk_trusting(path: &Path, trusted: [u32; 2]) -> Result<Self, FileError> {
        let start = |path: &Path| match path.is_absolute() {
            true => Self::open(Path::new("/")),
            false => Self::open(Path::new(".")),
        };
        let mut at = start(path)?;
        let mut steps = steps(path);
        let mut links = 0;
        while let Some(step) = steps.pop() {
            if step == ".." {
                at = at.up()?;
                continue;
            }
            match at.link_of(&step, trusted)? {
                None => at = at.below(Path::new(&step))?,
                Some(to) => {
                    links += 1;
                    if links > LINKS {
                        return Err(FileError::io("open folder", path)(Errno::ELOOP));
                    }
                    let to = Path::new(&to);
                    if to.is_absolute() {
                        at = start(to)?;
                    }
                    steps.extend(self::steps(to));
                }
            }
        }
        Ok(at)
    }

    /// Where the link `name` leads, if it is one, and one that may be followed.
    ///
    /// # Errors
    /// It is somebody else's, or cannot be read.
    pub fn link(&self, name: &OsStr) -> Result<Option<OsString>, FileError> {
        self.link_of(name, trusted())
    }

    fn link_of(&self, name: &OsStr, trusted: [u32; 2]) -> Result<Option<OsString>, FileError> {
        let path = self.path().join(name);
        let flags = OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let fd = openat(self.as_fd(), self.plain(name)?, flags, Mode::empty())
            .map_err(FileError::io("open folder", &path))?;
        let link = File::from(fd);
        let about = link.metadata().map_err(FileError::io("stat", &path))?;
        if !about.is_symlink() {
            return Ok(None);
        }
        if !trusted.contains(&about.uid()) {
            return Err(FileError::ForeignLink {
                path,
                owner: about.uid(),
            });
        }
        readlinkat(&link, "")
            .map(Some)
            .map_err(FileError::io("readlink", &path))
    }
}

/// Root and us.
fn trusted() -> [u32; 2] {
    [0, geteuid().as_raw()]
}

/// The names on a way, the first one last.
fn steps(path: &Path) -> Vec<OsString> {
    let steps = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        _ => None,
    });
    let mut steps: Vec<OsString> = steps.collect();
    steps.reverse();
    steps
}
