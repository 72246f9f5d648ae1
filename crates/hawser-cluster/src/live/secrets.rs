//! Secrets, where the operator keeps them: read when they are needed, held nowhere else.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use hawser_model::cluster_file::SecretRef;
use hawser_tool::{Tool, ToolError};

use crate::cib::secrets::{Content, NodeFile};
use crate::host;

/// Where secrets are looked for.
#[derive(Clone, Debug, Default)]
pub struct Secrets {
    /// Stands for the root of the operator's machine: a lab's own.
    root: Option<PathBuf>,
}

/// Why a secret cannot be had. None of these holds any of it.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// The file cannot be read.
    #[error("secret {reference}: {source}")]
    File {
        /// What the cluster file says.
        reference: String,
        /// Why.
        source: std::io::Error,
    },
    /// Others may read the file.
    #[error(
        "secret {reference} is mode {mode:04o}: others than its owner may read it; \
         chmod 600 {}", path.display()
    )]
    Readable {
        /// What the cluster file says.
        reference: String,
        /// Its mode.
        mode: u32,
        /// The file.
        path: PathBuf,
    },
    /// The variable is not set.
    #[error("secret {0}: the variable is not set")]
    NotSet(String),
    /// There is nothing in it.
    #[error("secret {0} is empty")]
    Empty(String),
    /// The sum that Pacemaker wants beside a secret could not be made.
    #[error(transparent)]
    Sum(#[from] ToolError),
}

impl Secrets {
    /// The secrets of this machine.
    pub fn here() -> Self {
        Self::default()
    }

    /// The secrets of the machine whose root is that folder. What is not there is this machine's.
    pub fn below(root: &Path) -> Self {
        let root = Some(root.to_owned());
        Self { root }
    }

    /// The secret itself.
    ///
    /// # Errors
    /// See [`SecretError`].
    pub fn read(&self, reference: &SecretRef) -> Result<String, SecretError> {
        let shown = reference.to_string();
        let text = match reference {
            SecretRef::Env(name) => {
                std::env::var(name).map_err(|_| SecretError::NotSet(shown.clone()))?
            }
            SecretRef::File(path) => {
                let path = self.path(path);
                let failed = |source| SecretError::File {
                    reference: shown.clone(),
                    source,
                };
                let about = fs::metadata(&path).map_err(failed)?;
                let mode = about.permissions().mode() & 0o7777;
                // Its owner must be us, or root, or nobody knows who reads it.
                if mode & 0o077 != 0 || ![0, nix_uid()].contains(&about.uid()) {
                    let reference = shown;
                    return Err(SecretError::Readable {
                        reference,
                        mode,
                        path,
                    });
                }
                fs::read_to_string(&path).map_err(failed)?
            }
        };
        match text.lines().next().map(str::trim_end) {
            Some(line) if !line.is_empty() => Ok(line.to_owned()),
            _ => Err(SecretError::Empty(shown)),
        }
    }

    fn path(&self, path: &Path) -> PathBuf {
        let below = self.root.as_ref().map(|root| {
            let inside = path.strip_prefix("/").unwrap_or(path);
            root.join(inside)
        });
        match below {
            Some(below) if below.exists() => below,
            _ => path.to_owned(),
        }
    }

    /// A file for the nodes, with the secret in its place.
    ///
    /// # Errors
    /// See [`SecretError`].
    pub fn fill(&self, file: &NodeFile) -> Result<host::OwnedFile, SecretError> {
        let text = match &file.content {
            Content::Text(text) => text.clone(),
            Content::Secret(reference) => self.read(reference)? + "\n",
            Content::SecretMd5(reference) => md5(&self.read(reference)?)? + "\n",
        };
        Ok(host::OwnedFile {
            mode: file.mode,
            content: host::Content(text.into_bytes()),
        })
    }
}

/// The user this process runs as.
fn nix_uid() -> u32 {
    fs::metadata("/proc/self").map_or(0, |about| about.uid())
}

/// The MD5 sum in hexadecimal; the secret goes over a pipe.
fn md5(secret: &str) -> Result<String, SecretError> {
    let output = Tool::new("md5sum").input(secret).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let sum = text.split_whitespace().next();
    Ok(sum.unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str, mode: u32) -> (tempfile::TempDir, SecretRef) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        (folder, SecretRef::File(path))
    }

    #[test]
    fn the_first_line_of_a_private_file_is_the_secret() {
        let (_folder, reference) = file("hunter2\nnotes\n", 0o600);
        assert_eq!(Secrets::here().read(&reference).unwrap(), "hunter2");
    }

    #[test]
    fn a_file_that_others_may_read_is_refused_and_its_content_not_told() {
        let (_folder, reference) = file("hunter2\n", 0o644);
        let said = Secrets::here().read(&reference).unwrap_err().to_string();
        assert!(
            said.contains("mode 0644") && said.contains("chmod 600"),
            "{said}"
        );
        assert!(!said.contains("hunter2"));
    }

    #[test]
    fn an_empty_secret_is_no_secret() {
        let (_folder, reference) = file("\n", 0o600);
        assert!(matches!(
            Secrets::here().read(&reference),
            Err(SecretError::Empty(_))
        ));
    }

    #[test]
    fn pacemakers_sum_is_of_the_secret_alone() {
        assert_eq!(md5("hunter2").unwrap(), "2ab96390c7dbe3439de74d0c9b0b1767");
    }
}
