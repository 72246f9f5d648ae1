//! A node of the file that the running cluster knows by another name: the same addresses, another name.

use std::collections::BTreeSet;

use hawser_model::cluster_file::ClusterFile;

use super::Problem;
use super::facts::Facts;
use crate::corosync::Conf;

/// A node as a `corosync.conf` has it.
struct Known {
    name: String,
    addresses: BTreeSet<String>,
}

/// The nodes that were renamed in the file.
pub(super) fn renamed(file: &ClusterFile, facts: &Facts) -> Vec<Problem> {
    let mut found: Vec<Problem> = Vec::new();
    for known in known(facts) {
        if file.node(&known.name).is_some() {
            continue;
        }
        let same = file.nodes.iter().find(|node| {
            let mut addresses = node.addresses.values();
            addresses.any(|address| known.addresses.contains(&address.get().to_string()))
        });
        let Some(node) = same else { continue };
        let problem = Problem::Renamed {
            old: known.name,
            new: node.name.get().clone(),
        };
        if !found.contains(&problem) {
            found.push(problem);
        }
    }
    found
}

fn known(facts: &Facts) -> impl Iterator<Item = Known> {
    let running = facts.nodes.values().filter(|node| node.running);
    let confs = running.filter_map(|node| Conf::parse(node.corosync_conf.as_deref()?).ok());
    confs.flat_map(|conf| {
        let nodes = conf
            .sections("nodelist")
            .flat_map(|list| list.sections("node"));
        let nodes = nodes.filter_map(|node| {
            // Eight links at most (corosync.conf(5)).
            let addresses = (0..8).filter_map(|link| node.value(&format!("ring{link}_addr")));
            Some(Known {
                name: node.value("name")?.to_owned(),
                addresses: addresses.map(str::to_owned).collect(),
            })
        });
        nodes.collect::<Vec<_>>()
    })
}
