//! Pacemaker's alerts: a program that Pacemaker runs after each event, and which wakes the watch.

use hawser_model::cluster_file::ClusterFile;

use super::OWN_DESCRIPTION;
use super::build::{nvpairs, pair};
use crate::units::ALERT;
use crate::xml::Element;

/// Its identity.
const ID: &str = "hawser-watch";

/// Pacemaker ends a program that takes longer, and goes on meanwhile; its own limit is 30 s.
const TIMEOUT: &str = "5s";

/// The alerts, where the file wants a watch. Changes of node attributes are left out: they are many, and Pacemaker's log tells
/// of those that move something.
pub(super) fn generate(file: &ClusterFile) -> Option<Element> {
    let selected = ["select_nodes", "select_fencing", "select_resources"];
    let select = Element::new("select").children(selected.map(Element::new));
    let id = format!("{ID}-meta");
    let alert = Element::new("alert")
        .with("id", ID)
        .with(
            "description",
            format!("{OWN_DESCRIPTION}wakes the watch of each head"),
        )
        .with("path", ALERT)
        .child(select)
        .child(nvpairs("meta_attributes", &id, &[pair("timeout", TIMEOUT)]));
    file.watch.unit.then(|| Element::new("alerts").child(alert))
}
