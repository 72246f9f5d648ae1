//! What a pool remembers of its units: serial numbers and LUN numbers that were given out once and
//! stay, whatever is renamed, removed or listed in another order.
//!
//! It is kept on the pool beside `exports.toml`. Nothing is ever forgotten by itself: a volume that
//! is not seen for a moment would otherwise come back as another disk.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::desired::Desired;

/// What is remembered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// Volumes by their identity, which a rename does not change: a ZFS volume's `guid`, an LVM
    /// volume's UUID, a file's inode.
    #[serde(default, rename = "volume")]
    pub volumes: BTreeMap<String, Remembered>,
    /// Directories that were offered by NFS, by their identity.
    #[serde(
        default,
        rename = "directory",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub directories: BTreeMap<String, RememberedDirectory>,
}

/// What is remembered of a directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RememberedDirectory {
    /// Its name when it was last seen.
    pub name: String,
    /// The number of its file system: a UUID.
    pub fsid: String,
}

/// What is remembered of a volume.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Remembered {
    /// Its name when it was last seen.
    pub name: String,
    /// Its serial number: 32 hexadecimal digits.
    pub serial: String,
    /// The company in its NAA identifier, six hexadecimal digits; without it LIO's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub company: Option<String>,
    /// Its number on each target, by the target's name.
    #[serde(default)]
    pub luns: BTreeMap<String, u16>,
}

/// A state file that cannot be used. Guessing would give disks to clients under wrong names.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    /// Not what was written.
    #[error(
        "{path}: {reason}; restore it from a backup or a snapshot of the pool, or remove it to number all units again"
    )]
    Unreadable {
        /// The path.
        path: String,
        /// The parser's reason.
        reason: String,
    },
    /// Two volumes with one serial number.
    #[error("{path}: \"{first}\" and \"{second}\" have the same serial number {serial}")]
    SerialTwice {
        /// The path.
        path: String,
        /// One volume.
        first: String,
        /// The other.
        second: String,
        /// The serial number.
        serial: String,
    },
}

impl State {
    /// Reads it. `path` is only for errors.
    pub fn parse(text: &str, path: &str) -> Result<Self, StateError> {
        let state: Self = toml::from_str(text).map_err(|error| StateError::Unreadable {
            path: path.to_owned(),
            reason: error.message().to_owned(),
        })?;
        let mut serials: BTreeMap<&str, &str> = BTreeMap::new();
        for volume in state.volumes.values() {
            // It names folders of the kernel's, and files.
            let digits = volume.serial.bytes().all(|it| it.is_ascii_hexdigit());
            if volume.serial.len() != 32 || !digits {
                return Err(StateError::Unreadable {
                    path: path.to_owned(),
                    reason: format!(
                        "the serial number \"{}\" of {} is not 32 hexadecimal digits",
                        volume.serial.escape_debug(),
                        volume.name.escape_debug()
                    ),
                });
            }
            if let Some(first) = serials.insert(&volume.serial, &volume.name) {
                return Err(StateError::SerialTwice {
                    path: path.to_owned(),
                    first: first.to_owned(),
                    second: volume.name.clone(),
                    serial: volume.serial.clone(),
                });
            }
        }
        Ok(state)
    }

    /// The same, and what is offered at this moment: a number that clients use is known although the file is
    /// lost. Where both say something of a volume, the file counts.
    #[must_use]
    pub fn with(&self, served: Option<&Desired>) -> Self {
        let mut all = self.clone();
        let served = served.unwrap_or(Desired::nothing());
        for (iqn, target) in &served.targets {
            for (lun, exposure, unit) in served.units_of(target) {
                let mut volumes = all.volumes.iter();
                let given = volumes.any(|(identity, known)| {
                    let other = *identity != unit.identity;
                    known.luns.get(iqn) == Some(&lun) || (other && known.serial == exposure.serial)
                });
                if given {
                    continue;
                }
                let new = || Remembered {
                    name: unit.name.clone(),
                    serial: exposure.serial.clone(),
                    company: unit.company.clone(),
                    luns: BTreeMap::new(),
                };
                let known = all.volumes.entry(unit.identity.clone()).or_insert_with(new);
                known.luns.entry(iqn.clone()).or_insert(lun);
            }
        }
        all
    }

    /// The text that is written.
    pub fn to_text(&self) -> String {
        // Maps with text keys, texts and numbers: nothing of it can fail to be TOML.
        let body = toml::to_string(self).expect("the state is TOML");
        format!(
            "# Made by hawser: the serial and LUN numbers that clients know this pool's volumes by.\n\
             # Keep it with the pool.\n\n{body}"
        )
    }
}
