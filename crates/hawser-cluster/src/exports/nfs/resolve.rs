//! From the file and the directories that are there to what is exported.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use sha2::{Digest, Sha256};

use super::client::Client;
use super::options::NfsOptions;
use crate::exports::desired::DesiredDirectory;
use crate::exports::file::ExportsFile;
use crate::exports::resolve::ExportsError;
use crate::exports::state::{RememberedDirectory, State};
use crate::hex;

/// A directory of the pool that the file offers, as whoever looked at the pool found it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directory {
    /// Its name below the pool: `home`, `.`.
    pub name: String,
    /// What does not change when it is renamed.
    pub identity: String,
    /// Where it is: `/tank/home`.
    pub path: String,
    /// A ZFS file system of the pool that somebody else than ZFS is to mount, and nobody has: perhaps here, where nothing is mounted.
    pub not_mounted: Option<String>,
}

/// What is exported, by path. Remembers the numbers that it gives.
///
/// # Errors
/// A directory that had another one's contents, which a file system that is not mounted may have. Clients would take its
/// parent's folder for it.
pub fn resolve(
    file: &ExportsFile,
    directories: &[Directory],
    state: &mut State,
    pool: &str,
) -> Result<BTreeMap<String, DesiredDirectory>, ExportsError> {
    // A clone of a dataset has the inodes and the times of its origin: then the name is part of what each is known by.
    let known_by = |directory: &Directory| {
        let alike = directories
            .iter()
            .filter(|it| it.identity == directory.identity);
        match alike.count() {
            1 => directory.identity.clone(),
            _ => format!("{} {}", directory.identity, directory.name),
        }
    };
    let there: BTreeSet<String> = directories.iter().map(known_by).collect();
    let mut desired: BTreeMap<String, DesiredDirectory> = BTreeMap::new();
    for directory in directories {
        let identity = known_by(directory);
        let mut known = state.directories.remove(&identity);
        if known.is_none() {
            // A directory restored from a backup has a new identity and the old name.
            let gone = state.directories.iter().find(|(identity, known)| {
                known.name == directory.name && !there.contains(identity.as_str())
            });
            let gone = gone.map(|(identity, _)| identity.clone());
            if let (Some(_), Some(dataset)) = (&gone, &directory.not_mounted) {
                return Err(ExportsError::NotTheSame {
                    directory: directory.name.clone(),
                    dataset: dataset.clone(),
                });
            }
            known = gone.and_then(|identity| state.directories.remove(&identity));
        }
        let fsid = known.map_or_else(|| new_fsid(state, pool, &directory.name), |k| k.fsid);
        let entries = file.nfs.iter().filter(|e| *e.directory == directory.name);
        let mut clients = BTreeMap::new();
        for entry in entries {
            let written = entry.options.as_ref().map_or("rw", |text| text.as_str());
            let options = NfsOptions::written(written).unwrap_or_default();
            let named = entry
                .clients
                .iter()
                .filter_map(|text| text.parse::<Client>().ok());
            clients.extend(named.map(|it| (it.to_string(), options.clone().with_fsid(&fsid))));
        }
        let wanted = DesiredDirectory {
            fsid: fsid.clone(),
            clients,
        };
        desired.insert(directory.path.clone(), wanted);
        let name = directory.name.clone();
        let remembered = RememberedDirectory { name, fsid };
        state.directories.insert(identity, remembered);
    }
    Ok(desired)
}

/// The units that would be files below an exported directory: what one client has as a file, no other must have as a
/// disk.
pub fn also_disks(file: &ExportsFile) -> Vec<ExportsError> {
    let units = file.units.iter().map(|unit| unit.volume.to_string());
    units
        .filter(|unit| file.shares(Path::new(unit)))
        .map(|unit| ExportsError::AlsoNfs { unit })
        .collect()
}

/// A UUID made from the names, and again with a counter when a renamed directory has it.
fn new_fsid(state: &State, pool: &str, directory: &str) -> String {
    let taken = |fsid: &String| state.directories.values().any(|known| known.fsid == *fsid);
    let mut counter = 0_u64;
    loop {
        let digest = Sha256::digest(format!("nfs {pool}/{directory}#{counter}").as_bytes());
        let digits = hex::digits(&digest[..16]);
        let parts = [
            &digits[..8],
            &digits[8..12],
            &digits[12..16],
            &digits[16..20],
            &digits[20..],
        ];
        let fsid = parts.join("-");
        if !taken(&fsid) {
            return fsid;
        }
        counter += 1;
    }
}
