//! Which cluster a verb works on (`-f`, `--host` or `--lab`), and how its nodes are reached.

mod connect;
mod known;
mod told;
mod which;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use hawser_cluster::exports::Context;
use hawser_cluster::live::{FenceAsk, Secrets, fence_asks};
use hawser_coordinator::address_check::MissingAddress;
use hawser_coordinator::discover::discover;
use hawser_lab::Lab;
use hawser_model::cluster_file::{ClientEntry, ClusterFile, ExportKind, Pool};
use hawser_model::host::HostFacts;
use hawser_model::iscsi::{ISCSI_PORT, IscsiUnit};
use hawser_model::names::HostName;
use hawser_model::topology::{Reach, Topology};
use miette::Report;

use crate::bad_file::Source;
pub use connect::{beside_switches, here, random};
pub use known::{FileOrLab, KnownCluster, Reached, none_reached, why_not};
pub use told::set_verbosity;
use which::by_ssh;
pub use which::{DEFAULT_FILE, OneHost, Running, Which};

/// How long a node may take to let itself be connected, and then to log in, while somebody waits.
const CONNECT: Duration = Duration::from_secs(2);
const LOGIN: Duration = Duration::from_secs(3);

/// A cluster as named.
pub struct Cluster {
    /// What is known of its topology; nothing with `--host`.
    pub topology: Option<Topology>,
    /// Its nodes and how each is reached.
    pub nodes: Vec<(HostName, Reach)>,
    file: Option<(Source, ClusterFile)>,
    secrets: Secrets,
    ssh_config: Option<PathBuf>,
    connect_timeout: Option<Duration>,
    login_timeout: Option<Duration>,
}

impl Cluster {
    /// Its topology, as far as these hosts are in it: as the file or the lab has it, else as the hosts' networks show it.
    pub fn topology_of(&self, hosts: &BTreeMap<HostName, HostFacts>) -> Topology {
        if let Some(whole) = &self.topology {
            let mut topology = whole.clone();
            topology.nodes.retain(|node| hosts.contains_key(&node.name));
            return topology;
        }
        let known: Vec<_> = self
            .nodes
            .iter()
            .filter_map(|(name, reach)| Some((name.clone(), reach.clone(), hosts.get(name)?)))
            .collect();
        discover(&known)
    }

    /// The cluster of these nodes.
    pub fn of_nodes(nodes: Vec<(HostName, Reach)>, ssh_config: Option<PathBuf>) -> Self {
        Self {
            topology: None,
            nodes,
            file: None,
            secrets: Secrets::here(),
            ssh_config,
            connect_timeout: None,
            login_timeout: None,
        }
    }

    /// One of its nodes.
    pub fn one(&self, name: &HostName) -> Self {
        let node = self.nodes.iter().filter(|(node, _)| node == name);
        Self {
            connect_timeout: self.connect_timeout,
            login_timeout: self.login_timeout,
            ..Self::of_nodes(node.cloned().collect(), self.ssh_config.clone())
        }
    }

    /// Its nodes for one who waits for an answer: one that has no power, or hangs, must not keep the others' back. Nodes
    /// that are slow have so many times longer.
    pub fn promptly(&self, slowness: u32) -> Self {
        Self {
            connect_timeout: Some(CONNECT * slowness),
            login_timeout: Some(LOGIN * slowness),
            ..Self::of_nodes(self.nodes.clone(), self.ssh_config.clone())
        }
    }

    /// The first unit of its file's first pool that is offered by iSCSI, at its address on this link, or at
    /// its first one; none without a file.
    pub fn unit(&self, link: Option<&str>) -> Option<IscsiUnit> {
        let file = self.cluster_file()?;
        let authority = file.exports.iqn.as_ref()?.get().clone();
        let offered = |pool: &&Pool| *pool.exports == ExportKind::Iscsi;
        let pool = file.pools.iter().find(offered)?;
        let on_link = pool
            .addresses
            .iter()
            .find(|(name, _)| Some(name.as_str()) == link);
        let (_, addresses) = on_link.or(pool.addresses.iter().next())?;
        let address = addresses.ips().next()?;
        let context = Context {
            pool: pool.name.get().clone(),
            authority,
            portals: Vec::new(),
            backend: file.exports.backend,
        };
        Some(IscsiUnit {
            portal: SocketAddr::new(address, ISCSI_PORT),
            target: context.iqn(&pool.name),
            lun: 1,
        })
    }

    /// Its file, when it has one.
    pub fn cluster_file(&self) -> Option<&ClusterFile> {
        self.file.as_ref().map(|(_, file)| file)
    }

    /// Where secrets of its file are.
    pub fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// How the fence devices of its file are asked from these nodes; none without a file.
    pub fn fence_asks(&self, nodes: &[HostName]) -> Vec<FenceAsk> {
        self.cluster_file()
            .map_or_else(Vec::new, |file| fence_asks(file, &self.secrets, nodes))
    }

    /// Whether any of its nodes is not a lab's: what is done to them is asked before.
    pub fn is_real(&self) -> bool {
        self.nodes
            .iter()
            .any(|(_, reach)| !matches!(reach, Reach::Lab(_)))
    }

    /// These clients of its pools, reached as its nodes are.
    ///
    /// # Errors
    /// One that cannot be an ssh destination.
    pub fn clients(&self, clients: &[ClientEntry]) -> miette::Result<Self> {
        let lab = self.nodes.iter().find_map(|(_, reach)| match reach {
            Reach::Lab(lab) => Some(lab),
            Reach::Ssh(_) => None,
        });
        let reach = |client: &ClientEntry| {
            let name = client.name.get().clone();
            let destination = client
                .ssh
                .as_ref()
                .map_or(name.as_str(), |ssh| ssh.as_str());
            let reach = match lab {
                Some(lab) => Reach::Lab(lab.clone()),
                None => by_ssh("--client", destination)?.1,
            };
            Ok((name, reach))
        };
        let nodes: miette::Result<Vec<_>> = clients.iter().map(reach).collect();
        Ok(Self::of_nodes(nodes?, self.ssh_config.clone()))
    }

    /// The labs whose nodes these are.
    pub fn labs(&self) -> miette::Result<Vec<Lab>> {
        let mut names: Vec<&str> = Vec::new();
        for (_, reach) in &self.nodes {
            if let Reach::Lab(lab) = reach {
                if !names.contains(&lab.as_str()) {
                    names.push(lab);
                }
            }
        }
        names
            .into_iter()
            .map(|name| Lab::open(name).map_err(|e| miette::miette!("{e}")))
            .collect()
    }

    /// Addresses that their nodes do not have, shown where the cluster file gives them.
    pub fn missing_addresses(&self, missing: &[MissingAddress]) -> Report {
        let Some((source, file)) = &self.file else {
            let all: Vec<String> = missing.iter().map(ToString::to_string).collect();
            return miette::miette!("{}", all.join("\n"));
        };
        let wrong: Vec<_> = missing
            .iter()
            .map(|one| {
                let span = file
                    .node(one.node.as_str())
                    .and_then(|n| n.addresses.iter().find(|(l, _)| *l.get() == one.link))
                    .map_or(0..0, |(_, address)| address.span());
                source.wrong(span, one.to_string())
            })
            .collect();
        source.report(&wrong)
    }
}
