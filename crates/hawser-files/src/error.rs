//! What is wrong with a file, what was found and what is allowed.

use std::io;
use std::path::{Path, PathBuf};

/// A file that could not be read or written, or that is not touched because of what it is.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// A system call failed.
    #[error("{call} {path}: {source}")]
    Io {
        /// The call.
        call: &'static str,
        /// The path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Not the kind of file that is expected. A link is never followed.
    #[error("{path} is a {found}; it must be a {allowed}")]
    Kind {
        /// The path.
        path: PathBuf,
        /// What it is.
        found: &'static str,
        /// What it may be.
        allowed: &'static str,
    },
    /// A link of somebody else's, who can let it lead anywhere.
    #[error(
        "{path} is a symbolic link of user {owner}: links are followed only if they are root's or your own"
    )]
    ForeignLink {
        /// The path.
        path: PathBuf,
        /// Whose it is.
        owner: u32,
    },
    /// It belongs to somebody else, who can change it at any time.
    #[error("{path} belongs to user {found}; it must belong to user {allowed}")]
    Owner {
        /// The path.
        path: PathBuf,
        /// Its owner.
        found: u32,
        /// Who may own it.
        allowed: u32,
    },
    /// Others can write it.
    #[error(
        "{path} has mode {mode:04o}; group and others must not be able to write it: chmod go-w {path}"
    )]
    Writable {
        /// The path.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// Others can read what nobody else may know.
    #[error(
        "{path} has mode {mode:04o}; group and others must not be able to read it: chmod go-rwx {path}"
    )]
    Readable {
        /// The path.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// It has other names, through which others may have it.
    #[error("{path} has {found} names (hard links); it must have one")]
    Links {
        /// The path.
        path: PathBuf,
        /// Its number of links.
        found: u64,
    },
    /// It is too large.
    #[error("{path} has more than {limit} bytes, which is the limit for such a file")]
    Size {
        /// The path.
        path: PathBuf,
        /// What is allowed.
        limit: u64,
    },
    /// It is no UTF-8.
    #[error("{path} is not text in UTF-8: byte {at} is wrong")]
    Text {
        /// The path.
        path: PathBuf,
        /// The first byte that is none.
        at: usize,
    },
    /// Something is there already and is not to be replaced.
    #[error("{path} exists")]
    Exists {
        /// The path.
        path: PathBuf,
    },
    /// Somebody has put another file in the place of ours.
    #[error("{path} was exchanged for another file while it was written")]
    Exchanged {
        /// The path.
        path: PathBuf,
    },
    /// It would move with a pool.
    #[error("{path} is on the pool below {pool}: it is kept on the head's own disk alone")]
    OnPool {
        /// The path, without links.
        path: PathBuf,
        /// Where the pool's files are.
        pool: String,
    },
    /// Not the name of a file in a folder.
    #[error("{path} does not end in the name of a file")]
    Name {
        /// The path.
        path: PathBuf,
    },
}

impl FileError {
    /// For `map_err`: a call on a path.
    pub fn io<E: Into<io::Error>>(
        call: &'static str,
        path: impl AsRef<Path>,
    ) -> impl FnOnce(E) -> Self {
        move |source| Self::Io {
            call,
            path: path.as_ref().to_owned(),
            source: source.into(),
        }
    }

    /// The kernel's answer, when it was a call that failed.
    pub fn os(&self) -> Option<&io::Error> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
