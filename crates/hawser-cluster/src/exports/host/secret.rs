//! Secrets from files that only root can read.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::MetadataExt;

use hawser_model::cluster_file::SecretRef;

/// A secret that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// It cannot be read.
    #[error("read the secret {path}: {source}")]
    Read {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// Others can read it.
    #[error(
        "{path} has mode {mode:04o}, and others than root can read the secret: chmod 0600 {path}"
    )]
    Mode {
        /// The file.
        path: String,
        /// Its mode.
        mode: u32,
    },
    /// It belongs to somebody else.
    #[error("{path} belongs to user {owner}, who can read the secret: chown root {path}")]
    Owner {
        /// The file.
        path: String,
        /// Its owner.
        owner: u32,
    },
    /// It is too short or too long.
    #[error("{path}: a CHAP secret has 12 to 255 characters, and this first line has {length}")]
    Length {
        /// The file.
        path: String,
        /// What it has.
        length: usize,
    },
    /// A variable of a shell, which is not there.
    #[error("{0} is no file")]
    NoFile(SecretRef),
}

/// The first line of the file.
pub fn read(secret: &SecretRef) -> Result<String, SecretError> {
    let SecretRef::File(file) = secret else {
        return Err(SecretError::NoFile(secret.clone()));
    };
    let path = file.display().to_string();
    let failed = |source| SecretError::Read {
        path: file.display().to_string(),
        source,
    };
    let open = File::open(file).map_err(failed)?;
    let about = open.metadata().map_err(failed)?;
    let mode = about.mode() & 0o7777;
    if mode & 0o077 != 0 {
        return Err(SecretError::Mode { path, mode });
    }
    if about.uid() != 0 {
        let owner = about.uid();
        return Err(SecretError::Owner { path, owner });
    }
    let mut line = String::new();
    let mut reader = BufReader::new(open.take(4096));
    reader.read_line(&mut line).map_err(failed)?;
    let line = line.trim_end_matches(['\r', '\n']);
    // RFC 7143, 12.1.1.1: at least 96 bits. tgtd takes any length; initiators refuse short ones.
    match line.chars().count() {
        12..=255 => Ok(line.to_owned()),
        length => Err(SecretError::Length { path, length }),
    }
}
