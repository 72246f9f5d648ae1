//! Serial numbers: made from a volume's name once, and kept when it is renamed.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest, Sha256};

use super::{ExportsError, Offered, Work};
use crate::exports::desired::Volume;
use crate::exports::state::Remembered;
use crate::hex;

impl Work<'_> {
    /// The serial number of each volume, by its identity.
    pub(super) fn serials(&mut self, units: &Offered<'_>) -> BTreeMap<String, String> {
        let there: BTreeSet<&str> = self.volumes.iter().map(|v| v.identity.as_str()).collect();
        for (volume, entry) in units {
            let known = self.state.volumes.remove(&volume.identity).or_else(|| {
                // A volume restored from a backup has a new identity and the old name.
                let gone = self.state.volumes.iter().find(|(identity, known)| {
                    known.name == volume.name && !there.contains(identity.as_str())
                });
                let identity = gone.map(|(identity, _)| identity.clone())?;
                self.state.volumes.remove(&identity)
            });
            let given = entry.and_then(|entry| entry.serial_asked());
            let mut known = known.unwrap_or_else(|| Remembered {
                name: volume.name.clone(),
                serial: given
                    .clone()
                    .unwrap_or_else(|| self.new_serial(&volume.name)),
                company: None,
                luns: BTreeMap::new(),
            });
            known.name.clone_from(&volume.name);
            if let Some(serial) = given {
                known.serial = serial;
                known.company = entry.and_then(|entry| entry.company_asked());
            }
            let same = self
                .state
                .volumes
                .values()
                .find(|other| other.serial == known.serial);
            if let Some(other) = same {
                self.errors.insert(ExportsError::SerialTaken {
                    unit: volume.name.clone(),
                    serial: known.serial.clone(),
                    other: other.name.clone(),
                });
            }
            self.state.volumes.insert(volume.identity.clone(), known);
        }
        let serial = |volume: &Volume| {
            let known = self.state.volumes.get(&volume.identity);
            known.map(|known| (volume.identity.clone(), known.serial.clone()))
        };
        units
            .iter()
            .filter_map(|(volume, _)| serial(volume))
            .collect()
    }

    /// Made from the names, and again with a counter when a renamed volume has it already or the
    /// file gives it to another.
    fn new_serial(&self, volume: &str) -> String {
        let given: BTreeSet<String> = self
            .file
            .units
            .iter()
            .filter_map(|unit| unit.serial_asked())
            .collect();
        let taken = |serial: &String| {
            given.contains(serial) || self.state.volumes.values().any(|v| v.serial == *serial)
        };
        let mut counter = 0_u64;
        loop {
            let text = format!("{}/{volume}#{counter}", self.context.pool);
            let serial = hex::digits(&Sha256::digest(text.as_bytes())[..16]);
            if !taken(&serial) {
                return serial;
            }
            counter += 1;
        }
    }
}
