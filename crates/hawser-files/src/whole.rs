//! New files: created exclusively under a random name, synced, and renamed into place.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Permissions};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::time::{Duration, SystemTime};

use nix::errno::Errno;
use nix::fcntl::{OFlag, RenameFlags, openat, renameat, renameat2};
use nix::sys::stat::Mode;

use crate::{FileError, Folder};

/// How the random names of files end that are not yet in their place.
const ENDING: &str = ".hawser-new";

/// A file that is not yet in its place and was not written for so long was left by a killed run.
const LEFT: Duration = Duration::from_secs(60);

/// Whether a new file is called so that is not yet in its place, or was left by a killed run.
pub fn is_unplaced(name: &OsStr) -> bool {
    let name = name.as_bytes();
    name.starts_with(b".") && name.ends_with(ENDING.as_bytes())
}

/// What becomes of a file that has the wanted name already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// It is replaced, not followed.
    Replaced,
    /// It stays: the new file is refused.
    Refused,
}

/// A new file without its name; it is removed again unless it is put in its place.
#[derive(Debug)]
pub struct Fresh<'a> {
    folder: &'a Folder,
    file: File,
    name: Option<OsString>,
}

impl Folder {
    /// Creates a file that nobody but its owner can open.
    ///
    /// # Errors
    /// The folder takes none.
    pub fn fresh(&self) -> Result<Fresh<'_>, FileError> {
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(|e| {
            FileError::io("get random bytes for", self.path())(std::io::Error::other(e.to_string()))
        })?;
        let name = OsString::from(format!(".{:016x}{ENDING}", u64::from_le_bytes(random)));
        let file = self.create(&name)?;
        Ok(Fresh {
            folder: self,
            file,
            name: Some(name),
        })
    }

    /// Creates a file under its own name, which nothing may have. Nobody but its owner can open it.
    ///
    /// # Errors
    /// Something has the name, or the folder takes no file.
    pub fn create(&self, name: &OsStr) -> Result<File, FileError> {
        let flags =
            OFlag::O_RDWR | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        match openat(
            self,
            self.plain(name)?,
            flags,
            Mode::from_bits_truncate(0o600),
        ) {
            Ok(fd) => Ok(File::from(fd)),
            Err(Errno::EEXIST) => Err(FileError::Exists {
                path: self.path().join(name),
            }),
            Err(errno) => Err(FileError::io("create", self.path().join(name))(errno)),
        }
    }

    /// Writes a file as a whole: a power cut leaves the old one or the new one.
    ///
    /// # Errors
    /// The disk does not take it, or somebody else interfered; then the old one is there.
    pub fn replace(&self, name: &OsStr, bytes: &[u8], mode: u32) -> Result<(), FileError> {
        self.sweep();
        let path = self.path().join(name);
        let fresh = self.fresh()?;
        let mut file = &fresh.file;
        file.write_all(bytes)
            .and_then(|()| file.set_permissions(Permissions::from_mode(mode)))
            .and_then(|()| file.sync_all())
            .map_err(FileError::io("write", &path))?;
        fresh.place(name, Existing::Replaced).map(drop)
    }

    /// Gives `file`, which is called `from`, the name `to`. That is on the disk when this returns.
    ///
    /// # Errors
    /// `to` is taken and shall not be, or one of the names is another file's.
    pub fn rename(
        &self,
        file: &File,
        from: &OsStr,
        to: &OsStr,
        place: Existing,
    ) -> Result<(), FileError> {
        self.is(file, from)?;
        self.plain(to)?;
        let path = self.path().join(to);
        let failed = |errno| FileError::io("rename a new file to", &path)(errno);
        let exists = || FileError::Exists { path: path.clone() };
        let plainly = || renameat(self, from, self, to).map_err(failed);
        match place {
            Existing::Replaced => plainly()?,
            Existing::Refused => {
                match renameat2(self, from, self, to, RenameFlags::RENAME_NOREPLACE) {
                    Ok(()) => {}
                    Err(Errno::EEXIST) => return Err(exists()),
                    // A file system without it.
                    Err(Errno::EINVAL) => match self.about(to)? {
                        Some(_) => return Err(exists()),
                        None => plainly()?,
                    },
                    Err(errno) => return Err(failed(errno)),
                }
            }
        }
        self.is(file, to)?;
        self.sync()
    }

    /// Fails unless `name` is this file's. A lock on a file that its holder may remove or rename counts only then.
    ///
    /// # Errors
    /// It is another file's, or nothing's; it cannot be looked at.
    pub fn is(&self, file: &File, name: &OsStr) -> Result<(), FileError> {
        let path = self.path().join(name);
        let ours = file.metadata().map_err(FileError::io("stat", &path))?;
        match self.about(name)? {
            Some(found) if (found.dev(), found.ino()) == (ours.dev(), ours.ino()) => Ok(()),
            _ => Err(FileError::Exchanged { path }),
        }
    }

    /// Removes what killed runs have left. What cannot be removed does no harm.
    fn sweep(&self) {
        let names = self.names().unwrap_or_default().into_iter();
        for name in names.filter(|name| is_unplaced(name)) {
            let Ok(Some(left)) = self.own(&name) else {
                continue;
            };
            let written = left.metadata().and_then(|about| about.modified());
            let age = written.map(|then| SystemTime::now().duration_since(then));
            if matches!(age, Ok(Ok(age)) if age > LEFT) {
                let _stays = self.remove(&name);
            }
        }
    }
}

impl Fresh<'_> {
    /// It.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Gives it its name.
    ///
    /// # Errors
    /// As [`Folder::rename`].
    pub fn place(mut self, name: &OsStr, place: Existing) -> Result<File, FileError> {
        let file = self
            .file
            .try_clone()
            .map_err(FileError::io("dup", self.folder.path().join(name)))?;
        if let Some(own) = &self.name {
            self.folder.rename(&self.file, own, name, place)?;
        }
        self.name = None;
        Ok(file)
    }
}

impl Drop for Fresh<'_> {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            let _gone_already = self.folder.remove(name);
        }
    }
}
