//! Secrets from files that only root can read.

use hawser_files::{Expected, FileError, Folder};
use hawser_model::cluster_file::SecretRef;

/// A secret that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// It cannot be read, is a link or no regular file, or not root's alone.
    #[error("the secret cannot be read: {0}")]
    File(#[from] FileError),
    /// There is none.
    #[error("{0} does not exist: the secret is to be in it, with mode 0600")]
    Absent(String),
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

/// What is more is no secret.
const EXPECTED: Expected = Expected {
    owner: 0,
    limit: 4096,
    private: true,
};

/// The first line of the file.
pub fn read(secret: &SecretRef) -> Result<String, SecretError> {
    read_expected(secret, EXPECTED)
}

fn read_expected(secret: &SecretRef, expected: Expected) -> Result<String, SecretError> {
    let SecretRef::File(file) = secret else {
        return Err(SecretError::NoFile(secret.clone()));
    };
    let path = file.display().to_string();
    let (folder, name) = Folder::of(file)?;
    let text = folder.read_text(name, expected)?;
    let text = text.ok_or_else(|| SecretError::Absent(path.clone()))?;
    let line = text.lines().next().unwrap_or_default();
    let line = line.trim_end_matches('\r');
    // RFC 7143, 12.1.1.1: at least 96 bits. tgtd takes any length; initiators refuse short ones.
    match line.chars().count() {
        12..=255 => Ok(line.to_owned()),
        length => Err(SecretError::Length { path, length }),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_secret_is_the_first_line_of_a_file_that_is_roots_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        let mode = |mode| fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        let secret = SecretRef::File(path.clone());
        let whose = |owner| {
            let expected = Expected { owner, ..EXPECTED };
            read_expected(&secret, expected).map_err(|e| e.to_string())
        };
        let own = nix::unistd::geteuid().as_raw();
        let read = || whose(own);
        assert!(read().unwrap_err().contains("does not exist"));
        fs::write(&path, "twelve-characters\r\nmore\n").unwrap();
        mode(0o640);
        assert!(read().unwrap_err().contains("has mode 0640"));
        mode(0o600);
        assert_eq!(read().unwrap(), "twelve-characters");
        assert!(whose(own + 1).unwrap_err().contains("belongs to user"));
        assert_eq!(EXPECTED.owner, 0);
        let other = folder.path().join("other");
        fs::rename(&path, &other).unwrap();
        symlink(&other, &path).unwrap();
        assert!(read().unwrap_err().contains("is a symbolic link"));
    }
}
