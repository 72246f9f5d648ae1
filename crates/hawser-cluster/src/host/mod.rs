//! What is done on a node: the work behind its [`questions`].

mod aside;
pub mod boot;
mod device;
mod device_names;
mod disk_paths;
pub mod drill;
mod engine;
mod exports_agent;
mod fence_status;
mod files;
mod ifspeed;
mod inventory;
mod kept_logs;
mod keys;
mod offers;
mod pacemaker;
mod ports;
pub mod questions;
mod registrations;
mod reload;
mod run;
mod stored_cib;
mod vdevs;
pub mod view;
mod watch_unit;

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::hex;
use crate::plan::{FileFacts, KeyFacts};
use crate::units;

pub use device::DeviceAction;
pub use inventory::Inventory;
pub use kept_logs::{HeadsReadings, KeptLogs, KeptName, kept_incidents};
pub use keys::{Encrypted, KeyFile};
pub use offers::{EXPORTS, OffersFile, SAVECONFIGS, TARGETS_CONF};
pub use questions::Machine;
pub use stored_cib::StoredCib;
pub use view::{HeadView, ViewQuestion};
pub use watch_unit::WatchAction;

/// A fence device that is asked whether it would fence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FenceQuestion {
    /// Its name.
    pub name: String,
    /// Its agent: `fence_ipmilan`.
    pub agent: String,
    /// Its parameters, as they stand in the CIB.
    pub parameters: BTreeMap<String, String>,
}

/// A file that Hawser writes on nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnedFile {
    /// Its mode.
    pub mode: u32,
    /// What is in it.
    pub content: Content,
}

/// The content of a file, which may be a secret: never printed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Content(pub Vec<u8>);

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({} bytes, not shown)", self.0.len())
    }
}

impl OwnedFile {
    /// What a plan must know of it, beside the wanted one.
    pub fn facts(&self, wanted: &Self) -> FileFacts {
        FileFacts {
            mode: self.mode,
            same: self.content == wanted.content,
        }
    }

    /// What a plan must know of it when it is Corosync's key.
    pub fn key_facts(&self) -> KeyFacts {
        use sha2::{Digest, Sha256};
        KeyFacts {
            sha256: hex::digits(&Sha256::digest(&self.content.0)),
            mode: self.mode,
        }
    }
}

/// Why a node could not obey.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// A file that is not one of Hawser's.
    #[error("{0} is not a file that Hawser writes")]
    NotOurs(String),
    /// A file that is none of those by which a head offers something.
    #[error("{0} is no file by which a head offers something")]
    NotOffers(String),
    /// A file operation failed.
    #[error("{call} {path}: {source}")]
    File {
        /// What was tried.
        call: &'static str,
        /// On what.
        path: String,
        /// The system's answer.
        source: io::Error,
    },
    /// A file could not be written as a whole.
    #[error(transparent)]
    OnDisk(#[from] hawser_files::FileError),
    /// A CIB that is set aside is one that Pacemaker does not use.
    #[error("Pacemaker runs")]
    Pacemaker,
    /// It is not the one that was to be set aside.
    #[error("{0} is not the one that was seen before: plan again")]
    OtherCib(String),
    /// A tool failed.
    #[error("{command}: {said}")]
    Tool {
        /// The command line, which never holds a secret.
        command: String,
        /// What it said.
        said: String,
    },
    /// Pacemaker's simulator could not be asked.
    #[error(transparent)]
    Simulate(#[from] crate::simulate::SimulateError),
    /// Something did not happen in time.
    #[error("{what} did not happen within {seconds} s")]
    Late {
        /// What.
        what: String,
        /// How long it was waited for.
        seconds: u64,
    },
}

impl NodeError {
    /// The error of a file operation on this path.
    fn file(call: &'static str, path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Self {
        let path = path.as_ref().display().to_string();
        move |source| Self::File { call, path, source }
    }
}

/// Whoever must know at once that a file has changed.
fn told_of(path: &str) -> Result<(), NodeError> {
    match path {
        units::DROP_IN => engine::reload_units(),
        _ => Ok(()),
    }
}
