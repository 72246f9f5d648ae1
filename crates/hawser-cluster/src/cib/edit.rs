//! Changes to a CIB that are not the cluster file's: the state a person puts a node in.

use super::port_attribute;
use crate::xml::Element;

/// The CIB with a node in standby, or out of it.
#[must_use]
pub fn with_standby(cib: &Element, node: &str, standby: bool) -> Element {
    let mut cib = cib.clone();
    let nodes = cib.first_or_new("configuration").first_or_new("nodes");
    let found = nodes
        .children
        .iter_mut()
        .find(|entry| entry.get("uname") == Some(node));
    if let Some(entry) = found {
        let id = format!("nodes-{}", entry.get("id").unwrap_or_default());
        let attributes = entry.first_or_new("instance_attributes");
        if attributes.get("id").is_none() {
            attributes.set("id", id.clone());
        }
        let value = if standby { "on" } else { "off" };
        let pair = attributes
            .children
            .iter_mut()
            .find(|p| p.get("name") == Some("standby"));
        match pair {
            Some(pair) => pair.set("value", value),
            None => attributes.children.push(
                Element::new("nvpair")
                    .with("id", format!("{id}-standby"))
                    .with("name", "standby")
                    .with("value", value),
            ),
        }
    }
    cib
}

/// The CIB with the ports of these nodes to these SANs seen to be well, or without a carrier.
#[must_use]
pub fn with_ports(cib: &Element, nodes: &[String], sans: &[String], well: bool) -> Element {
    let mut cib = cib.clone();
    let status = cib.first_or_new("status");
    for state in &mut status.children {
        let (Some(uname), Some(id)) = (state.get("uname"), state.get("id")) else {
            continue;
        };
        if !nodes.iter().any(|node| node == uname) {
            continue;
        }
        let id = id.to_owned();
        let transient = state.first_or_new("transient_attributes");
        transient.set("id", id.clone());
        let set = transient.first_or_new("instance_attributes");
        set.set("id", format!("status-{id}"));
        for san in sans {
            let name = port_attribute(san);
            set.children
                .retain(|pair| pair.get("name") != Some(name.as_str()));
            let pair = Element::new("nvpair")
                .with("id", format!("status-{id}-{name}"))
                .with("name", name)
                .with("value", if well { "10000" } else { "0" });
            set.children.push(pair);
        }
    }
    cib
}

/// The names of the nodes that are in standby.
pub fn in_standby(cib: &Element) -> Vec<&str> {
    let nodes = cib.at(&["configuration", "nodes"]).into_iter();
    let standby = |node: &&Element| {
        let pairs = node
            .all("instance_attributes")
            .flat_map(|set| &set.children);
        pairs.into_iter().any(|pair| {
            pair.get("name") == Some("standby")
                && matches!(pair.get("value"), Some("on" | "true" | "yes" | "1"))
        })
    };
    nodes
        .flat_map(|nodes| nodes.all("node"))
        .filter(standby)
        .filter_map(|n| n.get("uname"))
        .collect()
}
