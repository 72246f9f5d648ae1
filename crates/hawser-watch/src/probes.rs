//! What is asked of the network, seldom: whether packets of full size pass from head to head, and who else has an address of a
//! head.

use std::convert::Infallible;
use std::net::IpAddr;

use hawser_agent::questions::{AskForOwn, ProbeFullSize};
use hawser_cluster::live::StatusFacts;
use hawser_host::{Host, Hosts, on_all};
use hawser_model::cluster_file::{ClusterFile, NodeEntry};
use hawser_model::names::{HostName, LinkName};
use hawser_model::probe::{OwnAddresses, PathEcho};

/// Asks these heads, all at the same time. What a head cannot ask, nothing is known of.
pub(crate) fn probe(file: &ClusterFile, heads: &mut Hosts, facts: &mut StatusFacts) {
    let Ok(answered) = on_all(heads, |name, head| {
        let own = own_addresses(file, name, head);
        Ok::<_, Infallible>((own, echoes(file, name, head)))
    });
    let (own, echoes): (Vec<_>, Vec<_>) = answered.into_values().unzip();
    let (asked, claims): (Vec<_>, Vec<_>) =
        own.into_iter().map(|own| (own.asked, own.claims)).unzip();
    facts.own_addresses = asked.into_iter().flatten().collect();
    facts.claims = claims.into_iter().flatten().collect();
    facts.echoes = echoes.into_iter().flatten().collect();
    let views = facts.views.iter();
    let asked_at = views.filter_map(|(name, view)| {
        let at = view.clock?.asked_us / 1_000_000;
        Some((name.clone(), at))
    });
    facts.rare_at = asked_at.collect();
}

/// Who else answers for the head's own addresses, and for those of the pools that it has.
fn own_addresses(file: &ClusterFile, name: &HostName, head: &mut dyn Host) -> OwnAddresses {
    let nodes = file.nodes.iter().filter(|node| node.name.get() == name);
    let own = nodes.flat_map(|node| {
        let all = file.links.iter().map(|link| link.name.get());
        all.filter_map(|link| Some((link, *node.address_on(link.as_str())?.get())))
    });
    let pools = file.pools.iter().flat_map(|pool| &pool.addresses);
    let pools = pools.flat_map(|(link, addresses)| {
        let all = addresses.get().ips();
        all.map(|address| (link.get(), address))
    });
    let v4 = |(link, address): (&LinkName, IpAddr)| match address {
        IpAddr::V4(v4) => Some((link.clone(), v4)),
        IpAddr::V6(_) => None,
    };
    let ask = AskForOwn {
        host: name.clone(),
        addresses: own.chain(pools).filter_map(v4).collect(),
    };
    head.ask(&ask).unwrap_or_default()
}

/// Its ways to all others of the file. A way of which the file does not have both addresses is not asked for.
fn echoes(file: &ClusterFile, name: &HostName, head: &mut dyn Host) -> Vec<PathEcho> {
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
