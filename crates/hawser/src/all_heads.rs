//! All heads of a cluster, read from here: for `hawser top`, and for a watch that stays where it reaches all of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use hawser_agent::questions::ReadStanding;
use hawser_host::{Host, HostError, Reach, on_all};
use hawser_lab::Lab;
use hawser_model::host::HostFacts;
use hawser_model::names::HostName;
use hawser_model::topology::{Node, Topology};
use hawser_watch::readers::{Readers, Way};
use hawser_watch::whole::Whole;
use miette::{IntoDiagnostic, WrapErr, bail};

use crate::cluster::{Cluster, none_reached, why_not};
use crate::waiting::aloud;

/// All heads of a cluster, of which none is read yet.
///
/// # Errors
/// Hosts are named without a cluster file, and none of them is reached.
pub fn whole(cluster: &Cluster) -> miette::Result<Whole> {
    Ok(match cluster.cluster_file() {
        Some(file) => Whole::new(file.clone()),
        None => Whole::of_hosts(&hosts_alone(cluster)?),
    })
}

/// Begins to read them.
///
/// # Errors
/// There is no thread to be had.
pub fn read(cluster: Cluster, whole: Whole) -> miette::Result<Readers> {
    let labs = cluster.labs()?;
    let slowness = labs.iter().map(Lab::slowness).max().unwrap_or(1);
    let way: Way = Arc::new(Nodes { cluster, slowness });
    let readers = Readers::start(whole, &way, slowness);
    let readers = readers.into_diagnostic();
    readers.wrap_err("cannot start a thread")
}

/// The way to the nodes, which may be slow.
struct Nodes {
    cluster: Cluster,
    slowness: u32,
}

impl Reach for Nodes {
    fn connect(&self, name: &HostName) -> Result<Box<dyn Host>, HostError> {
        let one = self.cluster.promptly(self.slowness).one(name);
        one.connect_only(name)
    }
}

/// Hosts without a cluster file: their links are those of which their addresses tell.
///
/// # Errors
/// None of them is reached.
fn hosts_alone(cluster: &Cluster) -> miette::Result<Topology> {
    if let Some(topology) = &cluster.topology {
        return Ok(topology.clone());
    }
    let facts = aloud("the hosts are being reached", || facts(cluster))?;
    let mut topology = cluster.topology_of(&facts);
    for (name, reach) in &cluster.nodes {
        if topology.nodes.iter().all(|node| node.name != *name) {
            topology.nodes.push(Node {
                name: name.clone(),
                reach: reach.clone(),
                addresses: BTreeMap::new(),
            });
        }
    }
    Ok(topology)
}

fn facts(cluster: &Cluster) -> miette::Result<BTreeMap<HostName, HostFacts>> {
    let (mut hosts, failed) = cluster.promptly(1).try_connect()?;
    if hosts.is_empty() {
        bail!(none_reached(&why_not(&failed)));
    }
    let answered = on_all(&mut hosts, |_, host| host.ask(&ReadStanding::default()));
    let answered = answered.map_err(|e| miette::miette!("{e}"))?;
    let facts = answered.into_iter();
    Ok(facts
        .map(|(name, standing)| (name, standing.facts))
        .collect())
}
