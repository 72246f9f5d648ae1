//! The keys of encrypted datasets (zfs-load-key(8)). Who imports a pool needs each of them, or what is encrypted by it stays
//! locked: its volumes do not appear and its file systems are not mounted.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::Path;

use hawser_files::Expected;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::view::Told;
use super::view::bounded::tool;

/// A key of ZFS has 32 bytes, 64 as digits, and a passphrase at most 512.
const LARGEST: u64 = 4096;

/// A dataset that does not have its key from another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Encrypted {
    /// Its name.
    pub dataset: String,
    /// Where `zfs load-key` finds the key: `prompt`, or a URL (zfsprops(7), `keylocation`).
    pub key: String,
}

impl Encrypted {
    /// The file with its key.
    pub fn file(&self) -> Option<&str> {
        self.key.strip_prefix("file://")
    }
}

/// What is encrypted in a pool that is here. A pool without encryption answers at once, however many datasets it has.
pub(super) fn of_pool(pool: &str, limit: u32) -> Told<Vec<Encrypted>> {
    let feature = ["get", "-H", "-o", "value", "feature@encryption", pool];
    let active = tool(limit, "zpool", &feature, |said, end| {
        end.well.then(|| said.trim() == "active")
    });
    match active {
        Told::Said(true) => {}
        other => return other.map(|_| Vec::new()),
    }
    let fields = "name,property,value";
    let properties = "encryptionroot,keylocation";
    let kinds = "filesystem,volume";
    let asked = [
        "get", "-H", "-r", "-t", kinds, "-o", fields, properties, pool,
    ];
    tool(limit, "zfs", &asked, |said, end| {
        end.well.then(|| encrypted(said))
    })
}

/// Those that are the root of their encryption: all others below have the same key.
fn encrypted(said: &str) -> Vec<Encrypted> {
    let mut roots = BTreeSet::new();
    let mut keys = Vec::new();
    for line in said.lines() {
        let mut fields = line.split('\t');
        match (fields.next(), fields.next(), fields.next()) {
            (Some(name), Some("encryptionroot"), Some(root)) if name == root => {
                roots.insert(name);
            }
            (Some(name), Some("keylocation"), Some(key)) => keys.push((name, key)),
            _ => {}
        }
    }
    keys.retain(|(name, _)| roots.contains(name));
    let all = keys.into_iter();
    all.map(|(dataset, key)| Encrypted {
        dataset: dataset.to_owned(),
        key: key.to_owned(),
    })
    .collect()
}

/// What a head says of a file with a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeyFile {
    /// It is there: SHA-256 of what was sent with the question and the key. It tells whether two heads have the same key, and
    /// nothing of the key once the question is forgotten.
    There([u8; 32]),
    /// It cannot be used there: why, in words that follow its path.
    Unfit(String),
}

/// What is at these paths here.
pub(super) fn look(files: BTreeSet<String>, salt: &[u8]) -> BTreeMap<String, KeyFile> {
    let read = |path: &str| {
        let path = Path::new(path);
        if !path.is_absolute() {
            return Err("is no path from the root".to_owned());
        }
        // ZFS follows links.
        let place = path.canonicalize().map_err(|e| match e.kind() {
            ErrorKind::NotFound => "is not there".to_owned(),
            _ => format!("is not fit: {e}"),
        })?;
        let expected = Expected {
            private: false,
            ..Expected::own(LARGEST)
        };
        let key = hawser_files::read(&place, expected).map_err(|e| format!("is not fit: {e}"))?;
        let key = key.ok_or("is not there")?;
        Ok::<_, String>(
            Sha256::new()
                .chain_update(salt)
                .chain_update(key)
                .finalize(),
        )
    };
    let files = files.into_iter();
    files
        .map(|path| {
            let said = match read(&path) {
                Ok(digest) => KeyFile::There(digest.into()),
                Err(why) => KeyFile::Unfit(why),
            };
            (path, said)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_dataset_with_a_key_of_its_own_is_told_and_what_inherits_it_is_not() {
        let said = "vmpool01\tencryptionroot\t-\nvmpool01\tkeylocation\tnone\n\
            vmpool01/secret\tencryptionroot\tvmpool01/secret\n\
            vmpool01/secret\tkeylocation\tfile:///etc/zfs/keys/secret\n\
            vmpool01/secret/volume01\tencryptionroot\tvmpool01/secret\n\
            vmpool01/secret/volume01\tkeylocation\tnone\n\
            vmpool01/typed\tencryptionroot\tvmpool01/typed\nvmpool01/typed\tkeylocation\tprompt\n";
        let found = encrypted(said);
        let [secret, typed] = &found[..] else {
            panic!("{found:?}");
        };
        assert_eq!(secret.dataset, "vmpool01/secret");
        assert_eq!(secret.file(), Some("/etc/zfs/keys/secret"));
        assert_eq!((&typed.key[..], typed.file()), ("prompt", None));
    }

    #[test]
    fn two_files_are_compared_without_a_word_of_what_is_in_them() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).display().to_string();
        fs::write(at("a"), "one key").unwrap();
        fs::write(at("b"), "one key").unwrap();
        fs::write(at("c"), "another").unwrap();
        symlink(at("a"), at("link")).unwrap();
        fs::write(at("large"), vec![0; LARGEST as usize + 1]).unwrap();
        let files = ["a", "b", "c", "link", "large", "none"].map(at);
        let said = look(files.into(), b"salt");
        assert_eq!(said[&at("a")], said[&at("b")]);
        assert_eq!(said[&at("a")], said[&at("link")]);
        assert_ne!(said[&at("a")], said[&at("c")]);
        let other = look([at("a")].into(), b"pepper");
        assert_ne!(said[&at("a")], other[&at("a")]);
        let unfit = |name: &str| matches!(&said[&at(name)], KeyFile::Unfit(_));
        assert!(unfit("large") && unfit("none"));
        let relative = look(["etc/passwd".to_owned()].into(), b"");
        assert!(matches!(&relative["etc/passwd"], KeyFile::Unfit(why) if why.contains("no path")));
    }
}
