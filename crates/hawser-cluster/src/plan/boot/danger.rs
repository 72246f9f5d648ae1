//! What a head would do at its next boot, in words: the file, what would happen, what ends it.

use std::fmt;

use hawser_model::names::HostName;

use super::{IMPORT_CACHE, ZFS_CACHE};

/// What a head would do at its next boot, or what keeps it from noticing that it must not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Danger {
    /// The head.
    pub node: HostName,
    /// What.
    pub what: What,
    /// The file in which it stands.
    pub file: String,
}

/// What it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// The cache file names a pool.
    CachedPool {
        /// The pool.
        pool: String,
        /// Whether the cache is read at boot.
        imported: bool,
        /// The pools beside those of the cluster.
        others: Vec<String>,
    },
    /// The cache file cannot be read.
    UnreadableCache,
    /// Every pool that is seen is imported.
    ImportsAll {
        /// Whether a cache file keeps it from that now.
        held_back: bool,
    },
    /// A unit imports one pool.
    ImportsOne {
        /// The pool.
        pool: String,
    },
    /// The head has no host ID.
    NoHostid,
    /// Another head has the same.
    SameHostid {
        /// The other head.
        other: HostName,
        /// It.
        hostid: u32,
    },
    /// A unit offers what is on a pool.
    Offers {
        /// The pool.
        pool: String,
        /// The device, file or directory.
        object: String,
        /// The unit.
        unit: String,
    },
    /// A unit clears the target that the cluster uses, and gives it what was saved.
    ClearsTarget {
        /// The unit.
        unit: String,
        /// How much.
        objects: usize,
    },
    /// What targetcli has saved cannot be read.
    UnreadableTargets {
        /// The unit.
        unit: String,
    },
    /// A line mounts a pool.
    Mounts {
        /// The pool.
        pool: String,
        /// What is mounted.
        device: String,
        /// Where.
        place: String,
    },
    /// Nobody's volume groups are told from somebody else's.
    NoSystemId {
        /// The volume group.
        group: String,
    },
}

impl Danger {
    /// Whether it happens by itself, or lets another mistake happen unhindered. What does not is worth a note.
    pub fn stops_an_apply(&self) -> bool {
        !matches!(
            self.what,
            What::CachedPool {
                imported: false,
                ..
            } | What::ImportsAll { held_back: true }
                | What::ClearsTarget { .. }
        )
    }
}

impl fmt::Display for Danger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { node, what, file } = self;
        match what {
            What::CachedPool {
                pool,
                imported,
                others,
            } => {
                match imported {
                    true => write!(
                        f,
                        "{node} will import {pool} at its next boot, whoever has it then: {IMPORT_CACHE} imports what \
                         {file} names"
                    )?,
                    false => write!(
                        f,
                        "{file} on {node} names {pool}: whatever reads it imports the pool, whoever has it then"
                    )?,
                }
                write!(
                    f,
                    "; where {pool} is imported, `zpool set cachefile=none {pool}` takes it out, elsewhere `rm {file}`"
                )?;
                match others.is_empty() {
                    true => Ok(()),
                    false => write!(
                        f,
                        " and `zpool set cachefile={file}` for each of {}, which it names too",
                        others.join(", ")
                    ),
                }
            }
            What::UnreadableCache => write!(
                f,
                "{file} on {node} is not what ZFS writes, so that nobody knows which pools its next boot imports: \
                 `rm {file}`, then `zpool set cachefile={file} POOL` for each pool of the head's own"
            ),
            What::ImportsAll { held_back } => {
                match held_back {
                    false => write!(
                        f,
                        "{node} will import every pool that it sees at its next boot, whoever has it then: {file} is \
                         enabled"
                    )?,
                    true => write!(
                        f,
                        "{file} is enabled on {node}: without {ZFS_CACHE} a boot imports every pool that the head sees"
                    )?,
                }
                write!(f, "; `systemctl disable {file}` ends that")
            }
            What::ImportsOne { pool } => write!(
                f,
                "{node} will import {pool} at its next boot, whoever has it then: {file} is enabled; \
                 `systemctl disable {file}` ends that"
            ),
            What::NoHostid => write!(
                f,
                "{node} has no host ID ({file}): ZFS marks its pools with 0, and another head imports them without an \
                 objection; `zgenhostid` makes one"
            ),
            What::SameHostid { other, hostid } => write!(
                f,
                "{node} and {other} have the same host ID {hostid:08x} ({file}): each takes the other's pools for its \
                 own and imports them without an objection; `zgenhostid -f` on one of them, while it has no pool, \
                 makes another"
            ),
            What::Offers { pool, object, unit } => write!(
                f,
                "{node} will offer {object} of {pool} at its next boot, whoever has the pool then: {unit} reads \
                 {file}; take it out there, the cluster offers it"
            ),
            What::ClearsTarget { unit, objects } => write!(
                f,
                "{unit} on {node} clears the target when it stops and restores {file} (objects: {objects}) when it \
                 starts, whatever the cluster offers meanwhile; `systemctl disable {unit}`, if nothing but the \
                 cluster offers anything there"
            ),
            What::UnreadableTargets { unit } => write!(
                f,
                "{file} on {node}, which {unit} restores at boot, is not what targetcli writes, so that nobody knows \
                 what it offers then; `systemctl disable {unit}` or remove the file"
            ),
            What::Mounts {
                pool,
                device,
                place,
            } => write!(
                f,
                "{node} will mount {pool} at its next boot, whoever has it then: {file} mounts {device} at {place}; \
                 remove the line or add noauto to it"
            ),
            What::NoSystemId { group } => write!(
                f,
                "{node} will activate volume group {group} at its next boot, whoever has it then: {file} sets no \
                 system_id_source; `system_id_source = \"uname\"` in its section global, on every head, and \
                 `vgchange --systemid` once, tell whose the group is"
            ),
        }
    }
}
