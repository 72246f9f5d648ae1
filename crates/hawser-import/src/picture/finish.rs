//! What only all sources together say: links and their networks, addresses of nodes and pools.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use hawser_model::cluster_file::FIRST_PORT;
use ipnet::IpNet;

use super::{Link, Picture, Said};
use crate::page::Page;
use crate::place::quoted;

/// Gives each address its link and each link its network.
pub(crate) fn finish(picture: &mut Picture, page: &mut Page) {
    crate::corosync::nobody(picture, page);
    super::bound::to_networks(picture, page);
    by_interface(picture, page);
    ports(picture, page);
    pool_addresses(picture, page);
    heads_on_links(picture, page);
    duel(picture, page);
    offered(picture, page);
    if picture.name.is_none() && !picture.nodes.is_empty() {
        picture.name = Some("cluster".into());
        let at = picture.nodes[0].name.at.clone();
        page.changed(
            &at,
            "no source names the cluster",
            "name = \"cluster\"; --name NAME gives it another",
        );
    }
}

/// A link that is known by its interface has the addresses that the nodes have on it.
fn by_interface(picture: &mut Picture, page: &mut Page) {
    let links = picture.links.clone();
    for link in links {
        let Some(interface) = &link.interface else {
            continue;
        };
        let mut networks: BTreeMap<IpNet, usize> = BTreeMap::new();
        for node in &mut picture.nodes {
            let on = node.interfaces.iter().find(|(name, ..)| name == interface);
            if let Some((_, net, at)) = on {
                let said = Said::new(net.addr(), at);
                node.addresses.entry(link.name.clone()).or_insert(said);
                *networks.entry(net.trunc()).or_default() += 1;
            }
        }
        match networks.len() {
            0 => {
                let lacking = picture
                    .nodes
                    .iter()
                    .any(|node| !node.addresses.contains_key(&link.name));
                if lacking {
                    page.unsaid(
                        &link.at,
                        format!("which addresses the nodes have on {}", quoted(interface)),
                        "Corosync needs each; --interfaces NODE=FILE reads them from what `ip address` or `ipadm \
                         show-addr` printed there",
                    );
                }
            }
            1 => set_network(picture, &link.name, networks.into_keys().next()),
            _ => {
                let all: Vec<String> = networks.keys().map(ToString::to_string).collect();
                page.unsaid(
                    &link.at,
                    format!("the network of {}", quoted(interface)),
                    format!("the nodes are on {} there", all.join(" and ")),
                );
            }
        }
    }
}

/// Two links with one port, as Corosync without kronosnet had them, get Corosync's own.
fn ports(picture: &mut Picture, page: &mut Page) {
    let mut links: Vec<&mut Link> = picture.links.iter_mut().filter(|it| it.heartbeat).collect();
    let own = |i: usize| {
        u16::try_from(i)
            .unwrap_or(u16::MAX)
            .saturating_add(FIRST_PORT)
    };
    for i in 0..links.len() {
        let Some(said) = links[i].port.clone() else {
            continue;
        };
        let others = links.iter().enumerate().filter(|(j, _)| *j != i);
        let mut others = others.map(|(j, link)| (j, link.port.as_ref().map(|said| said.value)));
        // Of two that say it the first has it.
        let taken = others.any(|(j, port)| match port {
            Some(port) => j < i && port == said.value,
            None => own(j) == said.value,
        });
        if taken {
            links[i].port = None;
            let what = format!("port {} of link {}", said.value, quoted(&links[i].name));
            page.changed(
                &said.at,
                what,
                "another link has it: Corosync's own ports, 5405 and on",
            );
        }
    }
}

pub(super) fn set_network(picture: &mut Picture, name: &str, network: Option<IpNet>) {
    if let Some(link) = picture.links.iter_mut().find(|link| link.name == name) {
        link.network = link.network.or(network);
    }
}

/// The link of each address of a pool: the one of its network, or one that is made for it.
fn pool_addresses(picture: &mut Picture, page: &mut Page) {
    let mut pools = std::mem::take(&mut picture.pools);
    // Addresses that say their prefix first: they give the links their networks.
    let all = pools.iter().flat_map(|pool| &pool.addresses);
    let mut seen = BTreeSet::new();
    let known: Vec<IpNet> = all
        .filter_map(|a| IpNet::new(a.ip, a.prefix?).ok())
        .map(|net| net.trunc())
        .filter(|net| seen.insert(*net))
        .collect();
    for pool in &mut pools {
        let mut kept = Vec::new();
        for mut address in std::mem::take(&mut pool.addresses) {
            let ip = address.ip;
            let holds = |net: &IpNet| net.contains(&ip);
            // A link that is known by its interface and by nothing else has the network of what is put on it.
            let own = address.prefix.and_then(|p| IpNet::new(ip, p).ok());
            let by_interface =
                |link: &&mut Link| link.network.is_none() && link.interface == address.interface;
            if let (Some(own), true) = (own, address.interface.is_some()) {
                if let Some(link) = picture.links.iter_mut().find(by_interface) {
                    link.network = Some(own.trunc());
                }
            }
            let found = picture
                .links
                .iter()
                .find(|link| link.network.as_ref().is_some_and(holds));
            if let Some(link) = found {
                address.link = Some(link.name.clone());
                kept.push(address);
                continue;
            }
            let on_node = picture
                .nodes
                .iter()
                .flat_map(|node| &node.interfaces)
                .map(|(name, net, _)| (name, net.trunc()))
                .find(|(_, net)| holds(net));
            let neighbour = || known.iter().copied().find(holds);
            let network = own
                .map(|net| net.trunc())
                .or(on_node.as_ref().map(|(_, net)| *net))
                .or_else(neighbour);
            let Some(network) = network.filter(|net| net.prefix_len() < net.max_prefix_len())
            else {
                page.unsaid(
                    &address.at,
                    format!("the network of {ip}"),
                    "no source says how long its prefix is: write the link and this address of the pool by hand, or \
                     give --interfaces NODE=FILE",
                );
                continue;
            };
            // A ring whose nodes have addresses in this network is this link.
            let ring = picture.links.iter().position(|link| {
                let mut on = picture
                    .nodes
                    .iter()
                    .filter_map(|n| n.addresses.get(&link.name));
                link.network.is_none() && on.any(|said| network.contains(&said.value))
            });
            let hint = address.link.clone().or(address.interface.clone());
            let name = match ring {
                Some(i) => {
                    picture.links[i].network = Some(network);
                    if let Some(hint) = address.link.as_deref().and_then(super::usable) {
                        rename(picture, i, &hint);
                    }
                    picture.links[i].name.clone()
                }
                None => {
                    let next = picture.links.iter().filter(|link| link.san).count() + 1;
                    let name = picture.link_name(&hint.unwrap_or(format!("san{next}")));
                    picture.links.push(Link {
                        at: address.at.clone(),
                        name: name.clone(),
                        heartbeat: false,
                        san: true,
                        network: Some(network),
                        priority: None,
                        port: None,
                        interface: None,
                        bound: None,
                    });
                    name
                }
            };
            address.link = Some(name);
            kept.push(address);
        }
        pool.addresses = kept;
        for address in &pool.addresses {
            let name = address.link.as_deref().unwrap_or_default();
            if let Some(link) = picture.links.iter_mut().find(|link| link.name == name) {
                link.san = true;
            }
        }
    }
    picture.pools = pools;
}

/// Gives a link another name, also where it is named.
fn rename(picture: &mut Picture, i: usize, name: &str) {
    let old = picture.links[i].name.clone();
    if picture.links.iter().any(|link| link.name == name) {
        return;
    }
    picture.links[i].name = name.to_owned();
    for node in &mut picture.nodes {
        if let Some(said) = node.addresses.remove(&old) {
            node.addresses.insert(name.to_owned(), said);
        }
    }
}

/// The heads' own addresses on links whose network is known.
fn heads_on_links(picture: &mut Picture, page: &mut Page) {
    let taken: BTreeSet<IpAddr> = picture
        .pools
        .iter()
        .flat_map(|pool| &pool.addresses)
        .map(|address| address.ip)
        .collect();
    for link in &picture.links {
        let Some(network) = link.network else {
            continue;
        };
        for node in &mut picture.nodes {
            // An address of a pool that was up when somebody looked is not the head's own.
            let own = node
                .interfaces
                .iter()
                .find(|(_, net, _)| network.contains(&net.addr()) && !taken.contains(&net.addr()));
            if let Some((_, net, at)) = own {
                let said = Said::new(net.addr(), at);
                node.addresses.entry(link.name.clone()).or_insert(said);
            }
        }
        let there = |link: &str| {
            let has = |node: &&super::Node| node.addresses.contains_key(link);
            picture.nodes.iter().filter(has).count()
        };
        // One head's address alone is a mistake to the file's rules, and tells nothing.
        let alone = there(&link.name) < 2 && picture.nodes.len() > 1;
        if link.san && !link.heartbeat && alone {
            for node in &mut picture.nodes {
                node.addresses.remove(&link.name);
            }
            page.unsaid(
                &link.at,
                format!("the heads' own addresses on {}", link.name),
                "no source has them; `hawser check` measures this link once they are written, or give --interfaces \
                 NODE=FILE",
            );
        }
    }
}

/// Two heads without a delay would switch each other off; a quorum device decides by itself.
fn duel(picture: &mut Picture, page: &mut Page) {
    let [first, second] = &picture.nodes[..] else {
        return;
    };
    let fenced = |node: &super::Node| {
        let name = &node.name.value;
        node.bmc.is_some() || picture.devices.iter().any(|d| d.ports.contains_key(name))
    };
    let delay = |node: &super::Node| {
        let said = picture.delays.get(&node.name.value);
        said.map_or(0, |said| said.value)
    };
    let equal = delay(first) == delay(second);
    if picture.device.is_some() || !equal || !fenced(first) || !fenced(second) {
        return;
    }
    let (name, at) = (first.name.value.clone(), first.name.at.clone());
    let value = delay(first) + 5_000;
    page.changed(
        &at,
        "both heads are fenced after the same delay",
        format!(
            "delay = {{ {name} = \"{}s\" }}: in a duel {name} wins; without it both may be off",
            value / 1000
        ),
    );
    picture.delays.insert(name, Said::new(value, &at));
}

/// A pool of which no source says what it offers.
fn offered(picture: &mut Picture, page: &mut Page) {
    for pool in &mut picture.pools {
        if pool.exports.is_none() {
            let at = pool.at.clone();
            pool.exports = Some(Said::new("none".into(), &at));
            if pool.nfs.is_empty() {
                page.unsaid(
                    &at,
                    format!("what pool {} offers", quoted(&pool.name)),
                    "no source says: exports = \"none\"; `iscsi` offers what the pool's exports.toml says",
                );
            }
        }
        let iscsi = pool
            .exports
            .as_ref()
            .is_some_and(|said| said.value == "iscsi");
        if iscsi && picture.authority.is_none() {
            let at = pool.exports.as_ref().map_or(&pool.at, |said| &said.at);
            page.unsaid(
                at,
                "the naming authority of new targets",
                "no source has an IQN: write [exports] iqn",
            );
        }
    }
}
