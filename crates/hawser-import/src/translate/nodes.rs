//! Nodes as Pacemaker knows them.

use crate::crm::{Crm, Node};
use crate::page::Page;
use crate::picture::Picture;
use crate::place::quoted;

pub(super) fn translate(crm: &Crm, picture: &mut Picture, page: &mut Page) {
    for node in &crm.nodes {
        let name = &node.name;
        if node.remote {
            let why = "it runs no Corosync: Hawser's file has the nodes that do";
            page.unsaid(&node.at, format!("remote node {}", quoted(name)), why);
            continue;
        }
        picture.listed = true;
        picture.name_node(name, node.id.as_deref());
        if picture.node(name).is_none() {
            picture.add_node(name, &node.at);
            page.understood(&node.at, format!("node {name}"), "[[node]]");
        }
        attributes(node, page);
    }
}

fn attributes(node: &Node, page: &mut Page) {
    let on = |value: &str| {
        let value = value.to_ascii_lowercase();
        matches!(value.as_str(), "on" | "true" | "yes" | "1" | "y")
    };
    for (name, value) in &node.attributes {
        let what = format!("{name}={} of node {}", quoted(value), quoted(&node.name));
        match name.as_str() {
            "standby" | "maintenance" if !on(value) => {}
            "standby" => page.unsaid(
                &node.at,
                what,
                "no pool runs there until `hawser online`: the file does not say it",
            ),
            "maintenance" => {
                page.unsaid(&node.at, what, "[cluster] maintenance is that of all nodes")
            }
            _ => page.unsaid(&node.at, what, "Hawser's file has no attributes of nodes"),
        }
    }
    if node.utilization {
        let what = format!("utilization of node {}", quoted(&node.name));
        page.unsaid(
            &node.at,
            what,
            "Hawser's file does not say how much a node or a pool needs",
        );
    }
}
