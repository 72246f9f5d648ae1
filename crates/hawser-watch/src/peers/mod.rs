//! The watches of a cluster's heads among themselves: what each shows, and what each has kept of incidents.
//!
//! They speak over the heartbeat links, by the key that Corosync itself has on each head ([`key`]): whoever has it is a
//! node of the cluster, and no other key has to be handed out, kept or renewed. What is said is secret and cannot be
//! changed or repeated on the way ([`channel`]). A head answers what changes nothing ([`listen`]), and is asked through
//! the same door as any other host ([`peer`]).

pub mod channel;
pub mod key;
pub mod listen;
pub mod others;
pub mod peer;
mod questions;

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use hawser_cluster::plan::AUTHKEY;
use hawser_model::cluster_file::{ClusterFile, Role};
use hawser_model::names::HostName;

pub use questions::{Answering, ReadWatched};

/// Where a head's watch is among the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ring {
    /// The cluster's name.
    pub cluster: String,
    /// Where Corosync's key is.
    pub secret: PathBuf,
    /// The head.
    pub own: HostName,
    /// Its addresses on the heartbeat links, at which it is asked.
    pub listens: Vec<SocketAddr>,
    /// The other heads, each with where it is asked, in the order of the links in the file.
    pub others: BTreeMap<HostName, Vec<SocketAddr>>,
    /// Folders of pools: what is taken of others is kept below none.
    pub pools: Vec<String>,
}

impl Ring {
    /// By the cluster file; the port is the same on each head.
    pub fn of(file: &ClusterFile, own: &HostName, port: u16) -> Self {
        let addresses = |head: &HostName| {
            let node = file.nodes.iter().find(|node| node.name.get() == head);
            let links = file.links_with(Role::Heartbeat);
            links
                .filter_map(|link| node?.address_on(link.name.as_str()))
                .map(|address| SocketAddr::new(*address.get(), port))
                .collect()
        };
        let others = file.nodes.iter().map(|node| node.name.get());
        Self {
            cluster: file.cluster.name.to_string(),
            secret: AUTHKEY.into(),
            own: own.clone(),
            listens: addresses(own),
            others: others
                .filter(|head| *head != own)
                .map(|head| (head.clone(), addresses(head)))
                .collect(),
            pools: file.pool_folders(),
        }
    }

    /// Whether one of the other heads has this address.
    pub fn has(&self, address: IpAddr) -> bool {
        let mut all = self.others.values().flatten();
        all.any(|other| other.ip() == address)
    }

    /// What both ends of a conversation must mean: this cluster, and that head who is asked.
    fn meant(&self, asked: &HostName) -> Vec<u8> {
        format!("hawser watch 1\0{}\0{asked}", self.cluster).into_bytes()
    }
}
