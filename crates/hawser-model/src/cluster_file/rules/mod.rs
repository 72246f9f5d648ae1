//! Rules that a file of the right shape can still break, one file a subject.

mod adopted;
mod agents;
mod clients;
mod distinct_pools;
mod engine;
mod fencing;
mod hooks;
mod network;
mod pools;
mod ports;
mod resource_names;

use super::ClusterFile;
use super::Problem;
use crate::toml_file::{self, Rule};

/// Problems found so far.
type Found = toml_file::Found<Broken>;

pub use adopted::BrokenAdopted;
pub use clients::BrokenClients;
pub use engine::{BrokenEngine, MAX_LINKS};
pub use fencing::{BrokenFencing, is_fence_parameter_secret};
pub use hooks::BrokenHooks;
pub use network::BrokenNetwork;
pub use pools::BrokenPools;
pub use ports::BrokenPorts;
pub use resource_names::BrokenResourceNames;

/// A broken rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// About nodes, links and addresses.
    #[error(transparent)]
    Network(#[from] BrokenNetwork),
    /// About what Corosync can do.
    #[error(transparent)]
    Engine(#[from] BrokenEngine),
    /// About the ports of heartbeat links.
    #[error(transparent)]
    Ports(#[from] BrokenPorts),
    /// About fencing.
    #[error(transparent)]
    Fencing(#[from] BrokenFencing),
    /// About pools.
    #[error(transparent)]
    Pools(#[from] BrokenPools),
    /// About the names of resources.
    #[error(transparent)]
    ResourceNames(#[from] BrokenResourceNames),
    /// About hooks.
    #[error(transparent)]
    Hooks(#[from] BrokenHooks),
    /// About resources that are kept.
    #[error(transparent)]
    Adopted(#[from] BrokenAdopted),
    /// About clients.
    #[error(transparent)]
    Clients(#[from] BrokenClients),
}

impl Rule for Broken {
    fn help(&self) -> String {
        match self {
            Self::Network(broken) => broken.help(),
            Self::Engine(broken) => broken.help(),
            Self::Ports(broken) => broken.help(),
            Self::Fencing(broken) => broken.help(),
            Self::Pools(broken) => broken.help(),
            Self::ResourceNames(broken) => broken.help(),
            Self::Hooks(broken) => broken.help(),
            Self::Adopted(broken) => broken.help(),
            Self::Clients(broken) => broken.help(),
        }
    }
}

/// Checks every rule that holds for every file.
pub(super) fn check(file: &ClusterFile, found: &mut Found) {
    let mut given = network::Given::default();
    network::check(file, &mut given, found);
    engine::check(file, found);
    ports::check(file, found);
    fencing::check(file, &mut given, found);
    pools::check(file, &mut given, found);
    hooks::check(file, found);
    adopted::check(file, found);
    resource_names::check(file, found);
    clients::check(file, found);
}

/// Checks what must also hold before a cluster is built from the file.
pub(super) fn check_complete(file: &ClusterFile, found: &mut Found) {
    engine::check_complete(file, found);
    fencing::check_complete(file, found);
}
