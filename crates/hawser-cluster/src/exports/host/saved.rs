//! The copy of what a start made. It is on the host, not on the pool: a stop must work when the pool
//! is gone, and what is no longer declared must be known to be removed. It lasts as long as the
//! target it describes: both are gone after a reboot.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use hawser_files::{Expected, FileError};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::parameters::Parameters;
use super::storage_id::{StorageId, StorageIds};
use crate::exports::desired::{Desired, Portal};
use crate::exports::service::Foreign;
use crate::exports::tgt::{Instance, Targets};
use crate::hex;

/// Where the copies are.
pub const FOLDER: &str = "/run/hawser/exports";

/// What the copy, and what a pool remembers, must be to be read. Both grow with units times hosts: 300 units for 48 hosts are 1 MiB.
pub const KEPT: Expected = Expected {
    limit: 64 << 20,
    ..Expected::OF_ROOT
};

/// Writes a file that is read so, unless it could not be.
pub fn write_kept(path: &Path, text: &str) -> Result<(), FileError> {
    match text.len() as u64 > KEPT.limit {
        true => Err(FileError::Size {
            path: path.to_owned(),
            limit: KEPT.limit,
        }),
        false => hawser_files::replace(path, text.as_bytes(), 0o600),
    }
}

/// The folder that the copies are in, and the user whose they must be.
#[derive(Clone, Debug)]
pub struct Copies {
    folder: PathBuf,
    owner: u32,
}

impl Copies {
    /// Copies of this user's.
    #[cfg(test)]
    pub fn of(folder: PathBuf, owner: u32) -> Self {
        Self { folder, owner }
    }
}

impl Default for Copies {
    /// Root's, of this host.
    fn default() -> Self {
        Self {
            folder: FOLDER.into(),
            owner: Expected::OF_ROOT.owner,
        }
    }
}

impl Deref for Copies {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.folder
    }
}

/// What a start made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Saved {
    /// What it was told.
    pub parameters: Parameters,
    /// What it made, or was about to make.
    pub desired: Desired,
    /// What starts before it made and it was about to replace; empty once it has ended well.
    pub before: Vec<Desired>,
    /// By what the secrets of its accounts can be known again.
    pub marks: BTreeMap<String, Mark>,
    /// Where it had the target listen.
    pub portals: BTreeSet<Portal>,
    /// What it made in tgtd, by number. `None`: nothing, or a Hawser made it that did not write that down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<Made>,
    /// What its volumes are, whatever becomes of their names: file or device by path.
    #[serde(default)]
    pub volumes: BTreeMap<String, StorageId>,
}

/// What a start made in tgtd, or was about to make.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Made {
    /// In which tgtd.
    pub instance: Instance,
    /// Its targets.
    pub targets: Targets,
}

/// A salted hash of a secret: whether it has changed can be told, the secret cannot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    salt: String,
    hash: String,
}

/// A copy that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SavedError {
    /// It cannot be read, written or removed.
    #[error(transparent)]
    File(#[from] FileError),
    /// It is not what was written.
    #[error("{path} is damaged: {reason}; remove it, and stop the exports while the pool is there")]
    Damaged {
        /// The file.
        path: String,
        /// The parser's reason.
        reason: String,
    },
}

impl Mark {
    /// Of a secret.
    pub fn of(secret: &str) -> std::io::Result<Self> {
        let mut random = [0; 16];
        getrandom::fill(&mut random)?;
        let salt = hex::digits(&random);
        let hash = hash(&salt, secret);
        Ok(Self { salt, hash })
    }

    /// Whether it is this secret's.
    pub fn is_of(&self, secret: &str) -> bool {
        hash(&self.salt, secret) == self.hash
    }
}

fn hash(salt: &str, secret: &str) -> String {
    hex::digits(&Sha256::digest(format!("{salt}:{secret}").as_bytes()))
}

fn path(folder: &Path, pool: &str) -> PathBuf {
    folder.join(format!("{pool}.json"))
}

impl Saved {
    /// The copy of a pool.
    pub fn read(pool: &str) -> Result<Option<Self>, SavedError> {
        Self::read_in(&Copies::default(), pool)
    }

    /// The copy of a pool in a folder.
    pub fn read_in(folder: &Copies, pool: &str) -> Result<Option<Self>, SavedError> {
        let path = path(folder, pool);
        let expected = Expected {
            owner: folder.owner,
            ..KEPT
        };
        let Some(text) = hawser_files::read(&path, expected)? else {
            return Ok(None);
        };
        serde_json::from_slice(&text)
            .map(Some)
            .map_err(|error| SavedError::Damaged {
                path: path.display().to_string(),
                reason: error.to_string(),
            })
    }

    /// The copies of all other pools.
    pub fn others(folder: &Copies, pool: &str) -> Result<Vec<Self>, SavedError> {
        let Ok(entries) = fs::read_dir(&**folder) else {
            return Ok(Vec::new());
        };
        let names = entries.flatten().filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            Some(name.strip_suffix(".json")?.to_owned())
        });
        let others: Result<Vec<_>, _> = names
            .filter(|name| name != pool)
            .map(|name| Self::read_in(folder, &name))
            .collect();
        Ok(others?.into_iter().flatten().collect())
    }

    /// All that starts made and that may still be there, the last one last.
    pub fn starts(&self) -> impl Iterator<Item = &Desired> {
        self.before.iter().chain([&self.desired])
    }

    /// What starts exported by NFS and may still be exported: pairs of a directory and a client.
    pub fn nfs_pairs(&self) -> BTreeSet<(String, String)> {
        self.starts().flat_map(Desired::nfs_pairs).collect()
    }

    /// Its volumes, as they were when it was made.
    pub fn places(&self) -> StorageIds {
        let volumes = self.volumes.iter();
        volumes
            .map(|(path, place)| (*place, path.clone()))
            .collect()
    }

    /// Whether what it made in tgtd is in this one, as far as is known.
    pub fn is_of(&self, tgtd: Instance) -> bool {
        let made = self.made.as_ref();
        made.is_none_or(|made| made.instance == tgtd)
    }

    /// Forgets a target that turned out to be somebody else's.
    pub fn disown(&mut self, foreign: &Foreign) {
        if let (Some(made), Some(iqn)) = (&mut self.made, foreign.target()) {
            made.targets.remove(iqn);
        }
    }

    /// Writes it.
    pub fn write(&self, folder: &Path) -> Result<(), SavedError> {
        let text = serde_json::to_string_pretty(self).unwrap_or_default() + "\n";
        let path = path(folder, &self.parameters.pool);
        Ok(write_kept(&path, &text)?)
    }

    /// Removes the copy of a pool.
    pub fn remove(folder: &Path, pool: &str) -> Result<(), SavedError> {
        Ok(hawser_files::remove(&path(folder, pool)).map(drop)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_knows_its_secret_and_does_not_show_it() {
        let mark = Mark::of("correct horse").unwrap();
        assert!(mark.is_of("correct horse") && !mark.is_of("correct house"));
        assert!(!format!("{mark:?}").contains("horse"));
        assert_ne!(mark, Mark::of("correct horse").unwrap());
    }

    #[test]
    fn nothing_is_written_that_could_not_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tank.json");
        let text = "x".repeat(usize::try_from(KEPT.limit).unwrap());
        write_kept(&path, &text).unwrap();
        let refused = write_kept(&path, &(text.clone() + "x")).unwrap_err();
        assert!(matches!(refused, FileError::Size { .. }), "{refused}");
        assert_eq!(fs::read(&path).unwrap().len(), text.len());
    }
}
