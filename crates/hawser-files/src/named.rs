//! Files by their whole path: in a folder that is trusted, or one that a person has named.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

use crate::folder::bounded;
use crate::{Expected, FileError, Folder, kind};

/// Writes a file as a whole: see [`Folder::replace`].
///
/// # Errors
/// As there; the folder cannot be opened.
pub fn replace(path: &Path, bytes: &[u8], mode: u32) -> Result<(), FileError> {
    let (folder, name) = Folder::of(path)?;
    folder.replace(name, bytes, mode)
}

/// Fails unless a path leads to this open file: see [`Folder::is`].
///
/// # Errors
/// As there; the folder cannot be opened.
pub fn is_at(file: &File, path: &Path) -> Result<(), FileError> {
    let (folder, name) = Folder::of(path)?;
    folder.is(file, name)
}

/// Removes a file; whether there was one. That is on the disk when this returns.
///
/// # Errors
/// It cannot be removed.
pub fn remove(path: &Path) -> Result<bool, FileError> {
    let Some((folder, name)) = there(path)? else {
        return Ok(false);
    };
    let removed = folder.remove(name)?;
    if removed {
        folder.sync()?;
    }
    Ok(removed)
}

/// All bytes of a file that is as expected; `None` when there is none, nor a folder for it.
///
/// # Errors
/// See [`Folder::read`].
pub fn read(path: &Path, expected: Expected) -> Result<Option<Vec<u8>>, FileError> {
    match there(path)? {
        Some((folder, name)) => folder.read(name, expected),
        None => Ok(None),
    }
}

fn there(path: &Path) -> Result<Option<(Folder, &OsStr)>, FileError> {
    match Folder::of(path) {
        Err(e) if e.os().is_some_and(|e| e.kind() == ErrorKind::NotFound) => Ok(None),
        outcome => outcome.map(Some),
    }
}

/// All bytes of a file that a person has named, at most so many. Links are followed and anybody may own
/// it; it must be a regular file or a pipe, for which is waited.
///
/// # Errors
/// It is something else, is too large, or cannot be read.
pub fn read_named(path: &Path, limit: u64) -> Result<Vec<u8>, FileError> {
    let about = fs::metadata(path).map_err(FileError::io("stat", path))?;
    let kind = about.file_type();
    if !kind.is_file() && !kind.is_fifo() {
        let allowed = "regular file or a pipe";
        return Err(kind::wrong(path, kind::word(kind), allowed));
    }
    if kind.is_file() && about.len() > limit {
        return Err(FileError::Size {
            path: path.to_owned(),
            limit,
        });
    }
    let file = File::open(path).map_err(FileError::io("open", path))?;
    bounded(&file, limit, path)
}
