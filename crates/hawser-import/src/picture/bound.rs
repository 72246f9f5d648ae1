//! Links that are known by an address on their network.

use super::finish::set_network;
use super::{Picture, Said};
use crate::page::Page;

/// Gives each node the address that it has on the network to which a link is bound.
pub(super) fn to_networks(picture: &mut Picture, page: &mut Page) {
    let links = picture.links.clone();
    for link in &links {
        let Some(bound) = link.bound else { continue };
        let mut network = None;
        for node in &mut picture.nodes {
            let on = node
                .interfaces
                .iter()
                .find(|(_, net, _)| net.contains(&bound));
            if let Some((_, net, at)) = on {
                let said = Said::new(net.addr(), at);
                node.addresses.entry(link.name.clone()).or_insert(said);
                network = Some(net.trunc());
            }
        }
        set_network(picture, &link.name, network);
        let lacking = |node: &super::Node| !node.addresses.contains_key(&link.name);
        if picture.nodes.iter().any(lacking) {
            page.unsaid(
                &link.at,
                format!("which addresses the nodes have on the network of {bound}"),
                "Corosync needs each; --interfaces NODE=FILE reads them from what `ip address` or `ipadm show-addr` \
                 printed there",
            );
        }
    }
    for node in picture.nodes.iter().filter(|node| node.unnamed) {
        page.unsaid(
            &node.name.at,
            format!("the name of the node at {}", node.name.value),
            "Pacemaker calls it as `uname -n` says: write it, or give the CIB beside this file",
        );
    }
}
