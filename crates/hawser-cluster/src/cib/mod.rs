//! Pacemaker's configuration, made from the cluster file: one file a subject.
//!
//! A pool is not one group. Its storage, its exports and each of its addresses are resources of
//! their own, joined by constraints, so that removing one never stops its siblings.

mod adopted;
mod alerts;
mod build;
pub mod edit;
pub mod fencing;
mod hooks;
mod pools;
mod ports;
mod properties;
mod references;
pub mod secrets;
pub mod services;

use hawser_model::cluster_file::ClusterFile;

pub use hawser_model::cluster_file::watcher_id;
pub(crate) use pools::start_limit;
pub(crate) use ports::{NEEDS_A_SAN, link_of_attribute};
pub use ports::{Ports, port_attribute};
pub use properties::PROPERTY_SET;
pub(crate) use references::written_out;

use crate::numbering::Numbering;
use crate::xml::Element;

/// Constraints that Hawser made begin with this, so that it knows them again.
pub const OWN_CONSTRAINT: &str = "hawser-";

/// Descriptions of resources that Hawser made begin with this.
pub const OWN_DESCRIPTION: &str = "Hawser: ";

/// The whole CIB of a file alone, with an empty status. The watch over the heads' SAN ports is not in it: the names of
/// their interfaces are not in the file.
pub fn generate(file: &ClusterFile, numbering: &Numbering) -> Element {
    generate_watching(file, numbering, &Ports::default())
}

/// The whole CIB of a file and of the heads' ports, with an empty status: what a cluster has after the first apply.
pub fn generate_watching(file: &ClusterFile, numbering: &Numbering, ports: &Ports) -> Element {
    let nodes = file.nodes.iter().map(|node| {
        let id = numbering
            .nodes
            .get(node.name.get())
            .copied()
            .unwrap_or_default();
        Element::new("node")
            .with("id", id.to_string())
            .with("uname", node.name.as_str())
    });
    let fencing = fencing::generate(file);
    let pools = pools::generate(file);
    let (watchers, leave) = ports::generate(file, ports);
    let mut configuration = Element::new("configuration")
        .child(properties::crm_config(file))
        .child(Element::new("nodes").children(nodes))
        .child(
            Element::new("resources")
                .children(fencing.devices)
                .children(pools.resources)
                .children(watchers),
        )
        .child(
            Element::new("constraints")
                .children(fencing.constraints)
                .children(pools.constraints)
                .children(leave),
        );
    if let Some(topology) = fencing.topology {
        configuration.children.push(topology);
    }
    configuration.children.push(properties::rsc_defaults(file));
    configuration.children.extend(alerts::generate(file));
    Element::new("cib")
        // Schema 3.7 is Pacemaker 2.1.0's, the oldest with everything used here.
        .with("validate-with", "pacemaker-3.7")
        .with("admin_epoch", "0")
        .with("epoch", "1")
        .with("num_updates", "0")
        .child(configuration)
        .child(Element::new("status"))
}
