//! The clients of a pool, as they are written to it.

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::hex;

/// Who may reclaim locks when another head takes the pool over. What a later version says beside is left alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Those of NFS 3 that hold locks.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub nfs3: BTreeSet<IpAddr>,
    /// Those of NFS 4.
    #[serde(default, rename = "client", skip_serializing_if = "BTreeSet::is_empty")]
    pub clients: BTreeSet<Nfs4Client>,
}

impl Record {
    /// The file in the pool's root, beside `exports.toml`.
    pub const FILE: &str = "exports-clients.toml";

    /// Reads what was written.
    ///
    /// # Errors
    /// It is something else.
    pub fn parse(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error| error.message().to_owned())
    }

    /// As many clients as a file that is read may have, of NFS 4 those with the shortest names: a client chooses how long its
    /// own is.
    pub fn bounded(nfs3: BTreeSet<IpAddr>, clients: impl Iterator<Item = Nfs4Client>) -> Self {
        let mut all: Vec<Nfs4Client> = clients.collect();
        all.sort_by_key(|it| it.length());
        let mut room = LARGEST;
        all.retain(|it| {
            room = room.saturating_sub(it.length());
            room > 0
        });
        Self {
            nfs3: nfs3.into_iter().take(MOST).collect(),
            clients: all.into_iter().collect(),
        }
    }

    /// What is written.
    pub fn to_text(&self) -> String {
        let text = toml::to_string(self).expect("bytes are written as digits");
        format!("# Written by hawser: the clients of NFS that may reclaim their locks.\n\n{text}")
    }
}

/// A client of NFS 4, as `nfsdcld` has it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nfs4Client {
    /// The name that it gave itself (`co_ownerid`): any bytes.
    pub name: Bytes,
    /// A digest of the Kerberos principal under which it came: nobody else may reclaim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal: Option<Bytes>,
}

impl Nfs4Client {
    /// How much of a file it takes, at most.
    fn length(&self) -> usize {
        let principal = self.principal.as_ref().map_or(0, |it| it.0.len());
        64 + 2 * (self.name.0.len() + principal)
    }
}

/// The largest file of root's that is read is 1 MiB.
const LARGEST: usize = 1_000_000;

/// So many clients of NFS 3: some 45 kB.
const MOST: usize = 1000;

/// Bytes that a client chose: written in hexadecimal digits, and nowhere else than in the kernel's list read as text.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Bytes(pub Vec<u8>);

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.escape_ascii())
    }
}

impl From<Bytes> for String {
    fn from(bytes: Bytes) -> Self {
        hex::digits(&bytes.0)
    }
}

/// It has other letters than pairs of hexadecimal digits, or too many (`NFS4_OPAQUE_LIMIT`).
#[derive(Debug, thiserror::Error)]
#[error("not 1 to 1024 bytes in pairs of hexadecimal digits")]
pub struct NotBytes;

/// The longest name of a client (RFC 8881, 3.2).
pub const LONGEST: usize = 1024;

impl TryFrom<String> for Bytes {
    type Error = NotBytes;

    fn try_from(text: String) -> Result<Self, NotBytes> {
        let pair = |pair: &[u8]| {
            let text = std::str::from_utf8(pair).ok()?;
            let digits = pair.iter().all(u8::is_ascii_hexdigit);
            u8::from_str_radix(text, 16).ok().filter(|_| digits)
        };
        let fits = (1..=LONGEST).contains(&(text.len() / 2)) && text.len() % 2 == 0;
        let pairs = text.as_bytes().chunks(2).filter(|_| fits);
        let bytes: Option<Vec<u8>> = pairs.map(pair).collect();
        bytes.filter(|_| fits).map(Self).ok_or(NotBytes)
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::{btree_set, vec};
    use proptest::prelude::*;

    use super::*;

    fn bytes() -> impl Strategy<Value = Bytes> {
        vec(any::<u8>(), 1..40).prop_map(Bytes)
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            nfs3 in btree_set(any::<IpAddr>(), 0..3),
            all in btree_set((bytes(), proptest::option::of(bytes())), 0..5),
        ) {
            let clients = all.into_iter().map(|(name, principal)| Nfs4Client { name, principal });
            let record = Record { nfs3, clients: clients.collect() };
            prop_assert_eq!(Record::parse(&record.to_text()), Ok(record));
        }

        #[test]
        fn anything_else_is_an_error_and_no_panic(text in "\\PC*") {
            let _ = Record::parse(&text);
            let _ = Bytes::try_from(text);
        }
    }

    #[test]
    fn clients_with_long_names_do_not_keep_others_out() {
        let known = |length: usize, first: u16| {
            let mut name = vec![0; length];
            name[..2].copy_from_slice(&first.to_be_bytes());
            Nfs4Client {
                name: Bytes(name),
                principal: None,
            }
        };
        let long = (0..1000).map(|it| known(LONGEST, it));
        let addresses = (0..2000_u128).map(|it| IpAddr::from((u128::MAX - it).to_be_bytes()));
        let all = long.chain((0..100).map(|it| known(20, it)));
        let record = Record::bounded(addresses.collect(), all);
        assert_eq!(record.nfs3.len(), MOST);
        let short = record.clients.iter().filter(|it| it.name.0.len() == 20);
        assert_eq!(short.count(), 100);
        let text = record.to_text();
        assert!((900_000..1_048_576).contains(&text.len()), "{}", text.len());
        assert_eq!(Record::parse(&text), Ok(record));
    }

    #[test]
    fn only_digits_are_bytes() {
        for text in ["", "0", "0g", "+1", "é", " 1"] {
            assert!(Bytes::try_from(text.to_owned()).is_err(), "{text}");
        }
        assert!(Bytes::try_from("ab".repeat(LONGEST + 1)).is_err());
        assert_eq!(Bytes::try_from("4eFF".to_owned()).unwrap().0, [0x4e, 0xff]);
    }
}
