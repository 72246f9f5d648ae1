//! Hosts without a cluster file, as a file that says of them what is known.

use hawser_model::cluster_file::{
    At, Cluster, ClusterFile, Exports, HeadWatch, LinkEntry, NodeEntry, Quorum, Roles, Timing,
};
use hawser_model::topology::{Link, Node, Topology};

/// The nodes and the links. Nothing is known of what the links carry, nor of a cluster.
pub fn of_topology(topology: &Topology) -> ClusterFile {
    ClusterFile {
        cluster: Cluster {
            name: nowhere(topology.cluster.clone()),
            crypto: At::default(),
            compression: None,
            link_mode: Default::default(),
            failback: Default::default(),
            maintenance: false,
            properties: Default::default(),
        },
        nodes: topology.nodes.iter().map(node).collect(),
        links: topology.links.iter().map(link).collect(),
        quorum: Quorum::default(),
        timing: Timing::default(),
        fencing: None,
        pools: Vec::new(),
        clients: Vec::new(),
        exports: Exports::default(),
        watch: HeadWatch::default(),
        text: String::new(),
    }
}

fn node(node: &Node) -> NodeEntry {
    let addresses = node.addresses.iter();
    NodeEntry {
        name: nowhere(node.name.clone()),
        ssh: None,
        addresses: addresses
            .map(|(link, address)| (nowhere(link.clone()), nowhere(*address)))
            .collect(),
        id: None,
        bmc: None,
    }
}

fn link(link: &Link) -> LinkEntry {
    LinkEntry {
        name: nowhere(link.name.clone()),
        role: Roles::Several(Vec::new()),
        network: None,
        mtu: link.mtu,
        speed: None,
        switch: link.switch.clone(),
        priority: None,
        port: None,
        serial: link.serial.then(|| nowhere(true)),
    }
}

/// A value of no file.
fn nowhere<T>(value: T) -> At<T> {
    At::new(value, 0..0)
}
