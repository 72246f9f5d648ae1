//! Where the bytes shall go, looked at before anything is sent.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use hawser_files::{FileError, Folder};
use hawser_model::copy::CopySink;
use hawser_model::ladder::Storage;
use nix::fcntl::AtFlags;
use nix::unistd::{AccessFlags, faccessat};

use crate::error::CopyError;
use crate::source::kind_word;
use crate::storage;

/// A destination.
#[derive(Debug)]
pub(crate) enum Destination {
    Discard,
    Scratch(Storage),
    /// By its own name, no link.
    Device(PathBuf),
    File(Named),
}

/// A file in a folder, which stays the one that was opened.
#[derive(Debug)]
pub(crate) struct Named {
    pub(crate) folder: Folder,
    pub(crate) name: OsString,
    pub(crate) replace: bool,
}

impl Destination {
    /// Looks at the destination.
    pub(crate) fn find(sink: &CopySink) -> Result<Self, CopyError> {
        match sink {
            CopySink::Path {
                path,
                name,
                replace,
            } => named(Path::new(path), name.as_ref(), *replace),
            CopySink::Discard => Ok(Self::Discard),
            CopySink::Scratch(storage) => {
                // Said before anything is sent, when it cannot be.
                storage::sink(storage)?;
                Ok(Self::Scratch(storage.clone()))
            }
        }
    }

    /// Whether it takes any number of bytes.
    pub(crate) fn endless(&self) -> bool {
        matches!(self, Self::Discard | Self::Scratch(_))
    }
}

/// A folder, in which the file gets the source's name, a block device, or a file.
fn named(path: &Path, name: &OsStr, replace: bool) -> Result<Destination, CopyError> {
    let last = match path.components().next_back() {
        Some(std::path::Component::Normal(last)) => last,
        // `.`, `..` and `/` are folders.
        _ => return Named::new(Folder::walk(path)?, name, replace).map(Destination::File),
    };
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => Folder::walk(parent),
        _ => Folder::walk(Path::new(".")),
    };
    let folder = folder.map_err(|error| match error {
        FileError::Io { path, source, .. } => CopyError::file("write into", path.display())(source),
        error => error.into(),
    })?;
    let Some(about) = folder.about(last)? else {
        return Named::new(folder, last, replace).map(Destination::File);
    };
    let mut kind = about.file_type();
    if kind.is_symlink() {
        // Whose it is; then what is behind it.
        folder.link(last)?;
        kind = fs::metadata(path)
            .map_err(CopyError::file("stat", path.display()))?
            .file_type();
        if kind.is_file() {
            return Err(CopyError::Link(path.display().to_string()));
        }
    }
    if kind.is_dir() {
        return Named::new(Folder::walk(path)?, name, replace).map(Destination::File);
    }
    if kind.is_block_device() {
        if !replace {
            return Err(CopyError::Exists(path.display().to_string()));
        }
        let path = fs::canonicalize(path).map_err(CopyError::file("realpath", path.display()))?;
        return Ok(Destination::Device(path));
    }
    Named::new(folder, last, replace).map(Destination::File)
}

impl Named {
    fn new(folder: Folder, name: &OsStr, replace: bool) -> Result<Self, CopyError> {
        let named = Self {
            folder,
            name: name.to_owned(),
            replace,
        };
        named.free()?;
        let may = AccessFlags::W_OK | AccessFlags::X_OK;
        faccessat(&named.folder, ".", may, AtFlags::AT_EACCESS)
            .map_err(CopyError::file("write into", named.folder.path().display()))?;
        Ok(named)
    }

    /// Fails when something is there that is not to be replaced.
    pub(crate) fn free(&self) -> Result<(), CopyError> {
        let Some(about) = self.folder.about(&self.name)? else {
            return Ok(());
        };
        let shown = self.path().display().to_string();
        let kind = about.file_type();
        match () {
            () if kind.is_symlink() => Err(CopyError::Link(shown)),
            () if !kind.is_file() => Err(CopyError::Kind {
                path: shown,
                kind: kind_word(kind),
                allowed: "files, directories and block devices that you name yourself",
                direction: "to",
            }),
            () if !self.replace => Err(CopyError::Exists(shown)),
            () => Ok(()),
        }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join(&self.name)
    }

    /// `.NAME.hawser-WHAT`.
    pub(crate) fn beside(&self, what: &str) -> OsString {
        let mut name = OsString::from(".");
        name.push(&self.name);
        name.push(format!(".hawser-{what}"));
        name
    }
}
