//! Rules that a file of the right shape can still break, one file a subject.

mod network;

use super::ClusterFile;
use super::error::Found;

/// A broken rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// About nodes, links and addresses.
    #[error(transparent)]
    Network(#[from] network::BrokenNetwork),
}

impl Broken {
    /// What to do about it.
    pub fn help(&self) -> String {
        match self {
            Self::Network(broken) => broken.help(),
        }
    }
}

pub use network::BrokenNetwork;

/// Checks every rule that holds for every file.
pub(super) fn check(file: &ClusterFile, found: &mut Found) {
    network::check(file, found);
}
