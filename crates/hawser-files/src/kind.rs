//! What a file is: its kind in words, and whether it is its owner's alone.

use std::fs::{FileType, Metadata};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use crate::FileError;

/// As people call it.
pub(crate) fn word(kind: FileType) -> &'static str {
    match () {
        () if kind.is_file() => "regular file",
        () if kind.is_dir() => "folder",
        () if kind.is_symlink() => "symbolic link",
        () if kind.is_fifo() => "FIFO",
        () if kind.is_socket() => "socket",
        () if kind.is_block_device() => "block device",
        () => "character device",
    }
}

/// Fails unless it is a regular file.
pub(crate) fn regular(kind: FileType, path: &Path) -> Result<(), FileError> {
    match kind.is_file() {
        true => Ok(()),
        false => Err(wrong(path, word(kind), "regular file")),
    }
}

/// It is another kind than what is allowed.
pub(crate) fn wrong(path: &Path, found: &'static str, allowed: &'static str) -> FileError {
    FileError::Kind {
        path: path.to_owned(),
        found,
        allowed,
    }
}

/// Fails unless `owner` is the only one who can write it.
pub(crate) fn owned(about: &Metadata, owner: u32, path: &Path) -> Result<(), FileError> {
    if about.uid() != owner {
        return Err(FileError::Owner {
            path: path.to_owned(),
            found: about.uid(),
            allowed: owner,
        });
    }
    match about.mode() & 0o022 {
        0 => Ok(()),
        _ => Err(FileError::Writable {
            path: path.to_owned(),
            mode: about.mode() & 0o7777,
        }),
    }
}
