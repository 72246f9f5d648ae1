//! What the exports of a pool are told from outside: by Pacemaker, or by a person.

use std::net::IpAddr;
use std::path::PathBuf;

use hawser_model::cluster_file::Backend;
use serde::{Deserialize, Serialize};

use super::mounts::Mount;
use crate::exports::desired::Context;

/// What the exports of a pool are told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameters {
    /// The pool's name.
    pub pool: String,
    /// Where it is mounted.
    pub root: PathBuf,
    /// The naming authority of its targets; empty for a pool that is offered by NFS alone.
    pub authority: String,
    /// Its addresses.
    pub portals: Vec<IpAddr>,
    /// The target's implementation.
    pub backend: Backend,
    /// The volume group, when its volumes are LVM's.
    pub volume_group: Option<String>,
}

impl Parameters {
    /// What they are of a pool of which nothing is said.
    pub fn of(pool: &str) -> Self {
        Self {
            root: PathBuf::from(format!("/{pool}")),
            authority: String::new(),
            portals: Vec::new(),
            backend: Backend::default(),
            volume_group: None,
            pool: pool.to_owned(),
        }
    }

    /// The file in its root that says what it exports.
    pub const FILE: &str = "exports.toml";

    /// The file in its root that remembers the numbers that it gave.
    pub const STATE: &str = "exports-state.toml";

    /// Whether a pool can have this name, which is also that of a file.
    pub fn is_name(pool: &str) -> bool {
        !pool.contains('/') && !pool.starts_with('.')
    }

    /// Whether its volumes are files: where it has no others.
    pub fn has_files(&self, mount: &Mount) -> bool {
        self.volume_group.is_none() && mount.zpool().is_none()
    }

    /// Where it says what it exports.
    pub fn file(&self) -> PathBuf {
        self.root.join(Self::FILE)
    }

    /// Where it remembers the numbers that it gave.
    pub fn state(&self) -> PathBuf {
        self.root.join(Self::STATE)
    }

    /// What the file is resolved with.
    pub fn context(&self) -> Context {
        Context {
            pool: self.pool.clone(),
            authority: self.authority.clone(),
            portals: self.portals.clone(),
            backend: self.backend,
        }
    }
}
