//! Whether packets of full size pass between heads: one to each other head over each link, seldom.

use std::convert::Infallible;

use hawser_agent::questions::ProbeFullSize;
use hawser_host::{Host, Hosts, on_all};
use hawser_model::cluster_file::{ClusterFile, NodeEntry};
use hawser_model::names::HostName;
use hawser_model::probe::PathEcho;

/// Asks these heads, all at the same time, for their ways to all others of the file. A way of which the file does not have both
/// addresses is not asked for; of one that a head cannot ask about, nothing is known.
pub(crate) fn echoes(file: &ClusterFile, heads: &mut Hosts) -> Vec<PathEcho> {
    let Ok(answered) = on_all(heads, |name, head| {
        Ok::<_, Infallible>(of_head(file, name, head))
    });
    answered.into_values().flatten().collect()
}

fn of_head(file: &ClusterFile, name: &HostName, head: &mut dyn Host) -> Vec<PathEcho> {
    let is_own = |node: &&NodeEntry| node.name.get() == name;
    let Some(own) = file.nodes.iter().find(is_own) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for peer in file.nodes.iter().filter(|node| !is_own(node)) {
        for link in &file.links {
            let at = |node: &NodeEntry| node.address_on(link.name.as_str()).map(|at| *at.get());
            let (Some(source), Some(destination)) = (at(own), at(peer)) else {
                continue;
            };
            let ask = ProbeFullSize {
                source,
                destination,
            };
            match head.ask(&ask) {
                Ok(sizes) => found.push(PathEcho {
                    from: name.clone(),
                    to: peer.name.get().clone(),
                    link: link.name.get().clone(),
                    found: sizes,
                }),
                Err(e) if e.host_goes_on() => {}
                Err(_) => return found,
            }
        }
    }
    found
}
