//! What `hawser exports show --json` and `hawser exports verify --json` print.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a pool offers, by iSCSI and by NFS.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExportsReport {
    /// The pool.
    pub pool: String,
    /// Whether the pool is mounted on this host; if not, this is what its last start offered.
    pub pool_is_here: bool,
    /// Whether this host offers anything of it.
    pub running: bool,
    /// What a start would do, in words. Empty: all is as the pool says.
    pub pending: Vec<String>,
    /// The targets.
    pub targets: Vec<ExportedTarget>,
    /// The directories that are offered by NFS.
    pub nfs: Vec<ExportedDirectory>,
}

/// A directory that is offered by NFS.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExportedDirectory {
    /// Where it is, which is also what clients mount.
    pub directory: String,
    /// The number of its file system, the same on every head: a UUID.
    pub fsid: String,
    /// Who may mount it.
    pub clients: Vec<ExportedTo>,
}

/// Who may mount a directory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExportedTo {
    /// An address, a network, or `*` for everybody.
    pub client: String,
    /// How: what differs from the defaults of exports(5), and `rw` or `ro`.
    pub options: String,
    /// Whether it is exported now.
    pub exported: bool,
}

/// A target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExportedTarget {
    /// The name that clients see.
    pub iqn: String,
    /// Where it is reached.
    pub portals: Vec<String>,
    /// The account with which clients prove who they are.
    pub chap_user: Option<String>,
    /// The account with which the target in turn proves who it is.
    pub mutual_chap_user: Option<String>,
    /// Who may log in; absent: everybody.
    pub hosts: Option<Vec<String>>,
    /// Who is logged in.
    pub sessions: Vec<String>,
    /// Its units, by their numbers.
    pub units: Vec<ExportedUnit>,
}

/// A unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExportedUnit {
    /// Its number.
    pub lun: u16,
    /// The volume.
    pub volume: String,
    /// Where the volume is.
    pub path: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Bytes of a block.
    pub block_size: u32,
    /// Whether it may keep acknowledged writes in memory.
    pub write_cache: bool,
    /// Whether clients may give back blocks that they no longer need.
    #[serde(default)]
    pub unmap: bool,
    /// Whether clients may compare a block and write it at once; absent if the target has no setting for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ats: Option<bool>,
    /// Whether clients may have the target copy from unit to unit; absent if the target has no setting for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub xcopy: Option<bool>,
    /// Whether clients may read only.
    pub read_only: bool,
    /// Its serial number.
    pub serial: String,
    /// Its NAA identifier.
    pub naa: String,
}
