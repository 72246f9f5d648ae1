//! The quorum device of a cluster: whether it votes, and what its vote is worth.

use std::collections::BTreeMap;

use hawser_host::{Hosts, on_all};
use hawser_model::cluster_file::{ClusterFile, QdeviceAlgorithm};
use hawser_model::names::HostName;

use super::LiveError;
use crate::host::questions::AskDeviceVote;

/// Why it has no vote on each node that was reached: absent where it votes. Empty for a file without one.
///
/// # Errors
/// A node that was reached and cannot answer.
pub(super) fn ask(
    file: &ClusterFile,
    heads: &mut Hosts,
) -> Result<BTreeMap<HostName, Option<String>>, LiveError> {
    if file.quorum.device.is_none() {
        return Ok(BTreeMap::new());
    }
    Ok(on_all(heads, |_, head| head.ask(&AskDeviceVote))?)
}

/// In words, where it has no vote.
pub(super) fn silent(
    file: &ClusterFile,
    said: &BTreeMap<HostName, Option<String>>,
) -> Vec<(HostName, String)> {
    let host = file.quorum.device.iter().map(|device| device.host.get());
    host.flat_map(|host| {
        let silent = said
            .iter()
            .filter_map(|(node, why)| Some((node, why.as_ref()?)));
        silent.map(move |(node, why)| {
            let text = format!("the quorum device on {host} does not vote on {node}: {why}");
            (node.clone(), text)
        })
    })
    .collect()
}

/// Whether so many nodes that see each other have quorum, with the device's vote or without. Two nodes without a
/// device have it alone (`two_node`).
pub(super) fn quorum(file: &ClusterFile, nodes: usize, device_votes: bool) -> bool {
    let all = file.nodes.len();
    let worth = file
        .quorum
        .device
        .as_ref()
        .map_or(0, |device| match *device.algorithm {
            QdeviceAlgorithm::Ffsplit => 1,
            QdeviceAlgorithm::Lms => all.saturating_sub(1),
        });
    let has = nodes + if device_votes { worth } else { 0 };
    let needed = match (all, worth) {
        (2, 0) => 1,
        // votequorum(5): more than half of the votes expected.
        _ => (all + worth) / 2 + 1,
    };
    nodes > 0 && has >= needed
}
