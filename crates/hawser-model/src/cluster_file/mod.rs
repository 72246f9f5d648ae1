//! The cluster file, `hawser.toml`: what it may say, and what is wrong with it.
//!
//! [`parse`] reads what a check of the interconnect needs, [`parse_complete`] what a cluster is built
//! from.

mod adopted;
mod client;
mod cluster;
mod fencing;
mod hooks;
mod network;
mod pool;
mod rules;
mod watch;

use schemars::JsonSchema;
use serde::Deserialize;

pub use adopted::{Adopted, Kept, said_by_file};
pub use client::ClientEntry;
pub use cluster::{
    Cluster, Compression, CompressionModel, Crypto, CryptoCipher, CryptoHash, Failback, LinkMode,
    Profile, QdeviceAlgorithm, QdeviceTls, Quorum, QuorumDevice, Timing,
};
pub use fencing::{Bmc, FenceAction, FenceDevice, Fencing, WITHOUT_FENCING, bmc_id, is_ipmi_agent};
pub use hooks::{Hook, HookMoment, HookPlace, Hooks, is_program_path};
pub use network::{FIRST_PORT, LinkEntry, NodeEntry, Role, Roles, is_interface_name, watcher_id};
pub use pool::{
    AddressOn, Addresses, Backend, ExportKind, Exports, NfsExport, OneAddress, Pool, PoolKind,
    Timeouts,
};
pub use rules::{
    Broken, BrokenAdopted, BrokenClients, BrokenEngine, BrokenFencing, BrokenHooks, BrokenNetwork,
    BrokenPools, BrokenPorts, BrokenResourceNames, MAX_LINKS, is_fence_parameter_secret,
};
pub use watch::HeadWatch;

pub use crate::toml_file::{At, Network, NotA, Period, SecretRef, Speed};

use crate::names::HostName;
use crate::toml_file::{self, Found};
use crate::topology::{Link, Node, Reach, Topology};

/// Everything that is wrong with a cluster file.
pub type ClusterFileErrors = toml_file::FileErrors<Broken>;

/// One thing that is wrong with a cluster file, and where.
pub type ClusterFileError = toml_file::FileError<Broken>;

/// What is wrong with a cluster file.
pub type Problem = toml_file::Problem<Broken>;

/// A cluster file that keeps every rule.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "hawser.toml")]
pub struct ClusterFile {
    /// The cluster as a whole.
    pub cluster: Cluster,
    /// The nodes, in an order that never changes: it numbers them.
    #[serde(rename = "node")]
    pub nodes: Vec<NodeEntry>,
    /// The links, in an order that never changes: it numbers them.
    #[serde(rename = "link", default)]
    pub links: Vec<LinkEntry>,
    /// Who has a say when nodes lose sight of each other.
    #[serde(default)]
    pub quorum: Quorum,
    /// How fast a lost node is noticed.
    #[serde(default)]
    pub timing: Timing,
    /// How a node that does not answer is made harmless.
    pub fencing: Option<Fencing>,
    /// The pools.
    #[serde(rename = "pool", default)]
    pub pools: Vec<Pool>,
    /// How pools are offered by iSCSI.
    #[serde(default)]
    pub exports: Exports,
    /// Machines that use the pools.
    #[serde(rename = "client", default)]
    pub clients: Vec<ClientEntry>,
    /// What watches the heads all the time.
    #[serde(default)]
    pub watch: HeadWatch,
    /// Its own text, as it was read: what the watch on each head is given.
    #[serde(skip)]
    pub text: String,
}

/// Reads a cluster file. `path` is only for the errors.
pub fn parse(text: &str, path: &str) -> Result<ClusterFile, ClusterFileErrors> {
    let mut file: ClusterFile = toml_file::read(text, path, rules::check)?;
    file.text = text.to_owned();
    Ok(file)
}

/// Reads a cluster file from which a cluster is to be built: fencing and an address of every node on
/// every heartbeat link must be there too.
pub fn parse_complete(text: &str, path: &str) -> Result<ClusterFile, ClusterFileErrors> {
    let file = parse(text, path)?;
    let mut found = Found::default();
    rules::check_complete(&file, &mut found);
    found.take_result(text, path)?;
    Ok(file)
}

/// The JSON Schema of the cluster file, for editors and for [`parse`] itself.
pub fn schema() -> schemars::Schema {
    schemars::schema_for!(ClusterFile)
}

impl ClusterFile {
    /// Whether it says all that building a cluster from it takes, as [`parse_complete`] asks for.
    pub fn is_complete(&self) -> bool {
        let mut found = Found::default();
        rules::check_complete(self, &mut found);
        found.take_result("", "").is_ok()
    }

    /// The link of that name.
    pub fn link(&self, name: &str) -> Option<&LinkEntry> {
        self.links.iter().find(|link| link.name.as_str() == name)
    }

    /// The node of that name.
    pub fn node(&self, name: &str) -> Option<&NodeEntry> {
        self.nodes.iter().find(|node| node.name.as_str() == name)
    }

    /// The pools that may run on this node.
    pub fn pools_on<'a>(&'a self, node: &'a HostName) -> impl Iterator<Item = &'a Pool> {
        self.pools.iter().filter(move |pool| pool.may_run_on(node))
    }

    /// The links that carry this, in the file's order.
    pub fn links_with(&self, role: Role) -> impl Iterator<Item = &LinkEntry> {
        self.links.iter().filter(move |link| link.role.has(role))
    }

    /// Where the pools' own files are: what a head keeps for itself must not be below one.
    pub fn pool_folders(&self) -> Vec<String> {
        self.pools.iter().map(|pool| pool.root()).collect()
    }

    /// What a check of the interconnect needs of the file.
    pub fn topology(&self) -> Topology {
        let nodes = self.nodes.iter().map(|node| Node {
            name: node.name.get().clone(),
            reach: Reach::Ssh(node.ssh.clone().unwrap_or_else(|| node.name.to_string())),
            addresses: node
                .addresses
                .iter()
                .map(|(link, address)| (link.get().clone(), **address))
                .collect(),
        });
        let links = self.links.iter().map(|link| Link {
            name: link.name.get().clone(),
            mtu: link.mtu,
            speed: link.speed.map(|speed| speed.0),
            switch: link.switch.clone(),
            serial: link.is_serial(),
        });
        Topology {
            cluster: self.cluster.name.get().clone(),
            nodes: nodes.collect(),
            links: links.collect(),
        }
    }
}
