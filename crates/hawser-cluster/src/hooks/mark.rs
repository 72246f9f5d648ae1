//! Whether the hooks of a place have run on this head: a file below `/run`, which is gone after a reboot, as the pool is.

use std::fs::DirBuilder;
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use hawser_files::{Expected, FileError};

/// Where the marks are.
pub(super) const FOLDER: &str = "/run/hawser/hooks";

/// How far a place has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// Its first hook has been begun.
    Begun,
    /// It has ended well, or need not.
    Started,
}

/// The mark of one place of one pool.
#[derive(Clone, Debug)]
pub(super) struct MarkFile {
    path: PathBuf,
    owner: u32,
}

impl MarkFile {
    /// In this folder; `owner` is the only user whose marks are believed.
    pub fn of(folder: &Path, owner: u32, resource: &str) -> Self {
        Self {
            path: folder.join(resource),
            owner,
        }
    }

    /// `None`: nothing was begun here, or it was ended.
    pub fn read(&self) -> Result<Option<Mark>, FileError> {
        let expected = Expected {
            owner: self.owner,
            ..Expected::OF_ROOT
        };
        let text = hawser_files::read(&self.path, expected)?;
        Ok(text.map(|text| match text.as_slice() {
            b"started\n" => Mark::Started,
            // Of whatever is damaged no more is known.
            _ => Mark::Begun,
        }))
    }

    pub fn write(&self, mark: Mark) -> Result<(), FileError> {
        let folder = self.path.parent().unwrap_or(&self.path);
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        match made {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                return Err(FileError::io("create the folder", folder)(error));
            }
            _ => {}
        }
        let text: &[u8] = match mark {
            Mark::Begun => b"begun\n",
            Mark::Started => b"started\n",
        };
        hawser_files::replace(&self.path, text, 0o600)
    }

    pub fn remove(&self) -> Result<(), FileError> {
        hawser_files::remove(&self.path).map(drop)
    }
}
