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

    /// What would happen, and which file says so.
    pub fn what(&self) -> String {
        let Self { node, what, file } = self;
        let boots =
            |does: &str| format!("{node} will {does} at its next boot, whoever has it then");
        match what {
            What::CachedPool {
                pool,
                imported: true,
                ..
            } => {
                let imports = boots(&format!("import {pool}"));
                format!("{imports}: {IMPORT_CACHE} imports what {file} names")
            }
            What::CachedPool { pool, .. } => format!(
                "{file} on {node} names {pool}: whatever reads it imports the pool, whoever has it then"
            ),
            What::UnreadableCache => format!(
                "{file} on {node} is not what ZFS writes, so that nobody knows which pools its next boot imports"
            ),
            What::ImportsAll { held_back: false } => {
                let imports = boots("import every pool that it sees");
                format!("{imports}: {file} is enabled")
            }
            What::ImportsAll { held_back: true } => format!(
                "{file} is enabled on {node}: without {ZFS_CACHE} a boot imports every pool that the head sees"
            ),
            What::ImportsOne { pool } => {
                format!("{}: {file} is enabled", boots(&format!("import {pool}")))
            }
            What::NoHostid => format!(
                "{node} has no host ID ({file}): ZFS marks its pools with 0, and another head imports them without an \
                 objection"
            ),
            What::SameHostid { other, hostid } => format!(
                "{node} and {other} have the same host ID {hostid:08x} ({file}): each takes the other's pools for its \
                 own and imports them without an objection"
            ),
            What::Offers { pool, object, unit } => format!(
                "{node} will offer {object} of {pool} at its next boot, whoever has the pool then: {unit} reads {file}"
            ),
            What::ClearsTarget { unit, objects } => format!(
                "{unit} on {node} clears the target when it stops and restores {file} (objects: {objects}) when it \
                 starts, whatever the cluster offers meanwhile"
            ),
            What::UnreadableTargets { unit } => format!(
                "{file} on {node}, which {unit} restores at boot, is not what targetcli writes, so that nobody knows \
                 what it offers then"
            ),
            What::Mounts {
                pool,
                device,
                place,
            } => {
                let mounts = boots(&format!("mount {pool}"));
                format!("{mounts}: {file} mounts {device} at {place}")
            }
            What::NoSystemId { group } => {
                let activates = boots(&format!("activate volume group {group}"));
                format!("{activates}: {file} sets no system_id_source")
            }
        }
    }

    /// What ends it.
    pub fn remedy(&self) -> String {
        let file = &self.file;
        match &self.what {
            What::CachedPool { pool, others, .. } => {
                let out = format!(
                    "where {pool} is imported, `zpool set cachefile=none {pool}` takes it out, elsewhere `rm {file}`"
                );
                match others.is_empty() {
                    true => out,
                    false => format!(
                        "{out} and `zpool set cachefile={file}` for each of {}, which it names too",
                        others.join(", ")
                    ),
                }
            }
            What::UnreadableCache => format!(
                "`rm {file}`, then `zpool set cachefile={file} POOL` for each pool of the head's own"
            ),
            What::ImportsAll { .. } | What::ImportsOne { .. } => {
                format!("`systemctl disable {file}` ends that")
            }
            What::NoHostid => "`zgenhostid` makes one".to_owned(),
            What::SameHostid { .. } => {
                "`zgenhostid -f` on one of them, while it has no pool, makes another".to_owned()
            }
            What::Offers { .. } => "take it out there, the cluster offers it".to_owned(),
            What::ClearsTarget { unit, .. } => format!(
                "`systemctl disable {unit}`, if nothing but the cluster offers anything there"
            ),
            What::UnreadableTargets { unit } => {
                format!("`systemctl disable {unit}` or remove the file")
            }
            What::Mounts { .. } => "remove the line or add noauto to it".to_owned(),
            What::NoSystemId { .. } => {
                "`system_id_source = \"uname\"` in its section global, on every head, and \
                 `vgchange --systemid` once, tell whose the group is"
                    .to_owned()
            }
        }
    }
}

impl fmt::Display for Danger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.what(), self.remedy())
    }
}
