//! Networks that all heads are on, as links.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use hawser_model::cluster_file::{MAX_LINKS, Speed};
use hawser_model::units::Mtu;
use ipnet::IpNet;

use super::bmc::Bmc;
use super::head::Port;
use super::{Head, Refused, Remarks, Said, switches};
use crate::picture::usable;
use crate::place::quoted;

/// A link.
pub(super) struct Link {
    pub name: String,
    pub network: IpNet,
    /// Clients come by it too.
    pub san: bool,
    /// Why that is a guess.
    pub guessed: bool,
    pub mtu: Option<Mtu>,
    pub speed: Option<Speed>,
    pub switch: Option<String>,
    /// Each head's address and interface, by its name as a node.
    pub ends: BTreeMap<String, (IpAddr, String)>,
}

/// An interface that carries no network of its own: what it sends goes over another one, or nowhere.
const WITHOUT_CABLE: [&str; 10] = [
    "tun",
    "wireguard",
    "vxlan",
    "geneve",
    "ipip",
    "sit",
    "gre",
    "dummy",
    "ip6_tunnel",
    "ip_vti",
];

/// What a port is called that leads to those who administrate, by custom.
const MANAGEMENT: [&str; 4] = ["mgmt", "admin", "ipmi", "bmc"];

/// What a port is called that leads to clients, by custom.
const SAN: [&str; 3] = ["san", "iscsi", "storage"];

type Ends = BTreeMap<String, (IpAddr, String)>;

pub(super) fn links(
    heads: &[Head],
    wishes: &super::Wishes,
    bmcs: &[Bmc],
    remarks: &mut Remarks,
) -> Result<Vec<Link>, Refused> {
    let mut links: Vec<Link> = Vec::new();
    let mut administration: Vec<(Link, &'static str)> = Vec::new();
    for (network, ends) in networks(heads) {
        let known = links
            .iter()
            .chain(administration.iter().map(|(link, _)| link));
        if let Some(why) = unfit(heads, network, &ends, &known.collect::<Vec<_>>()) {
            remarks.add(
                Said::LeftOut,
                places(heads, &ends),
                network.to_string(),
                why,
            );
            continue;
        }
        let known = links
            .iter()
            .chain(administration.iter().map(|(link, _)| link));
        let taken = known.map(|link| link.name.as_str());
        let link = Link::new(heads, network, ends, &taken.collect());
        match administered(heads, &link, bmcs) {
            Some(why) => administration.push((link, why)),
            None => links.push(link),
        }
    }
    wished(&mut links, &mut administration, wishes)?;
    let alone = links.is_empty();
    for (link, why) in administration {
        let place = places(heads, &link.ends);
        if alone || link.san {
            let why = format!("{why}: others use it too, and whoever changes it changes the link");
            remarks.add(Said::Doubtful, place, format!("link {}", link.name), why);
            links.push(link);
        } else {
            let why = format!("{why}; it is a link only if there is no other");
            remarks.add(Said::LeftOut, place, link.network.to_string(), why);
        }
    }
    // Cables of the heads alone first: what is first is where a message goes if all are alike.
    links.sort_by_key(|link| link.san);
    for link in links.drain(MAX_LINKS.min(links.len())..) {
        let why = format!("Corosync has {MAX_LINKS} links at most");
        remarks.add(
            Said::LeftOut,
            places(heads, &link.ends),
            link.network.to_string(),
            why,
        );
    }
    for link in &mut links {
        link.compare(heads, remarks);
    }
    said(&links, heads, remarks);
    switches::name(&mut links, heads, remarks);
    Ok(links)
}

/// Each network with the first address that each head has in it.
fn networks(heads: &[Head]) -> BTreeMap<IpNet, Ends> {
    let mut all: BTreeMap<IpNet, Ends> = BTreeMap::new();
    for head in heads {
        for (name, port) in &head.ports {
            for &(ip, prefix) in &port.addresses {
                let Ok(net) = IpNet::new(ip, prefix) else {
                    continue;
                };
                if connects(ip, &net) {
                    let ends = all.entry(net.trunc()).or_default();
                    ends.entry(head.hostname.clone())
                        .or_insert((ip, name.clone()));
                }
            }
        }
    }
    all
}

/// Loopback, link-local and host routes join nobody.
fn connects(ip: IpAddr, net: &IpNet) -> bool {
    let local = match ip {
        IpAddr::V4(v4) => v4.is_loopback() || v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_loopback() || v6.is_unicast_link_local(),
    };
    !local && net.prefix_len() < net.max_prefix_len()
}

/// Why a network is no link.
fn unfit(heads: &[Head], network: IpNet, ends: &Ends, known: &[&Link]) -> Option<String> {
    let without: Vec<&str> = heads
        .iter()
        .map(|head| head.hostname.as_str())
        .filter(|name| !ends.contains_key(*name))
        .collect();
    if !without.is_empty() {
        let has = if without.len() == 1 { "has" } else { "have" };
        return Some(format!("{} {has} no address in it", without.join(" and ")));
    }
    let different: BTreeSet<&IpAddr> = ends.values().map(|(ip, _)| ip).collect();
    if different.len() < ends.len() {
        return Some(
            "heads have the same address in it: it is a network within each of them".into(),
        );
    }
    let tunnel = heads.iter().find_map(|head| {
        let (_, name) = ends.get(&head.hostname)?;
        let driver = head.ports.get(name)?.driver.as_deref()?;
        WITHOUT_CABLE.contains(&driver).then_some((name, driver))
    });
    if let Some((name, driver)) = tunnel {
        return Some(format!("{name} ({driver}) has no cable of its own"));
    }
    let wires = |ends: &Ends| -> Vec<String> { ends.values().map(|(_, on)| on.clone()).collect() };
    let mut links = known.iter();
    if let Some(link) = links.find(|link| wires(&link.ends) == wires(ends)) {
        return Some(format!("on the same ports as link {}", link.name));
    }
    let overlaps =
        |link: &&Link| link.network.contains(&network) || network.contains(&link.network);
    let link = known.iter().copied().find(overlaps)?;
    Some(format!(
        "it overlaps with link {}, {}",
        link.name, link.network
    ))
}

/// Why it is the network of the heads' administration, if it is.
fn administered(heads: &[Head], link: &Link, bmcs: &[Bmc]) -> Option<&'static str> {
    let of_head = |head: &Head| {
        let (_, port) = link.ends.get(&head.hostname)?;
        let within = |ip: &str| {
            ip.parse()
                .is_ok_and(|ip: IpAddr| link.network.contains(&ip))
        };
        let default = &head.around.default_routes;
        if default.iter().any(|route| route.as_str() == port) {
            return Some("the network of the default route");
        }
        if head.around.reached_at.as_deref().is_some_and(within) {
            return Some("the network of ssh");
        }
        let mut addresses = bmcs.iter().filter_map(|bmc| bmc.address.as_deref());
        if addresses.any(within) {
            return Some("the network of the BMCs");
        }
        let port = port.to_ascii_lowercase();
        let called = MANAGEMENT.iter().any(|word| port.starts_with(word));
        called.then_some("the network of administration, by the name of its ports")
    };
    heads.iter().find_map(of_head)
}

/// Which links clients come by: those that the administrator names, else those whose ports are called so.
fn wished(
    links: &mut [Link],
    administration: &mut [(Link, &'static str)],
    wishes: &super::Wishes,
) -> Result<(), Refused> {
    if wishes.sans.is_empty() {
        for link in links {
            let names = [&link.name]
                .into_iter()
                .chain(link.ends.values().map(|(_, on)| on));
            link.san = names.into_iter().all(|name| {
                let name = name.to_ascii_lowercase();
                SAN.iter().any(|word| name.starts_with(word))
            });
            link.guessed = link.san;
        }
        return Ok(());
    }
    for wish in &wishes.sans {
        let is = |link: &&mut Link| link.name == *wish || link.network.to_string() == *wish;
        let others = administration.iter_mut().map(|(link, _)| link);
        let all = links.iter_mut().chain(others);
        let Some(link) = all.into_iter().find(is) else {
            let known = links
                .iter()
                .chain(administration.iter().map(|(link, _)| link));
            let known: Vec<String> = known
                .map(|link| format!("{} ({})", link.name, link.network))
                .collect();
            return Err(Refused {
                found: format!("--san {}: the heads have no such link", quoted(wish)),
                help: match known.is_empty() {
                    true => "they have no network in common".into(),
                    false => format!("they have {}", known.join(", ")),
                },
            });
        };
        link.san = true;
    }
    Ok(())
}

impl Link {
    fn new(heads: &[Head], network: IpNet, ends: Ends, taken: &BTreeSet<&str>) -> Self {
        // The port's name, if it is the same everywhere.
        let ports: BTreeSet<&str> = ends.values().map(|(_, on)| on.as_str()).collect();
        let wish = match (ports.len(), ports.first()) {
            (1, Some(port)) => usable(port),
            _ => None,
        };
        let numbered = (1..).map(|n| format!("link{n}"));
        let mut names = wish.into_iter().chain(numbered);
        let name = names.find(|name| !taken.contains(name.as_str()));
        let all = || {
            let ports = heads.iter().map(|head| {
                let (_, name) = ends.get(&head.hostname)?;
                head.ports.get(name)
            });
            ports.flatten()
        };
        Self {
            name: name.unwrap_or_default(),
            network,
            san: false,
            guessed: false,
            mtu: alike(all().map(|port: &Port| port.mtu)),
            speed: alike(all().map(|port| port.speed)).map(Speed),
            switch: None,
            ends,
        }
    }

    /// In what its ports differ, and whether one is dead.
    fn compare(&self, heads: &[Head], remarks: &mut Remarks) {
        let mut mtus = BTreeMap::new();
        for head in heads {
            let Some((_, name)) = self.ends.get(&head.hostname) else {
                continue;
            };
            let Some(port) = head.ports.get(name) else {
                continue;
            };
            let place = format!("{}:{name}", head.hostname);
            if !port.carrier {
                let what = format!("it has no carrier, and is an end of link {}", self.name);
                remarks.add(Said::Doubtful, place, what, "is its cable plugged in?");
            }
            if let Some(mtu) = port.mtu {
                mtus.entry(mtu.0).or_insert(head.hostname.as_str());
            }
        }
        if mtus.len() > 1 {
            let all: Vec<String> = mtus
                .iter()
                .map(|(mtu, on)| format!("{mtu} on {on}"))
                .collect();
            let what = format!("the MTU of link {}", self.name);
            let why = format!("{}: the smaller one counts", all.join(", "));
            remarks.add(Said::Doubtful, "-", what, why);
        }
    }
}

/// What all have, if they have the same.
fn alike<T: Copy + PartialEq>(all: impl Iterator<Item = Option<T>>) -> Option<T> {
    let mut all = all.peekable();
    let first = (*all.peek()?)?;
    all.all(|other| other == Some(first)).then_some(first)
}

/// `head1:eth0 head2:eth1`.
fn places(heads: &[Head], ends: &Ends) -> String {
    let all = heads.iter().filter_map(|head| {
        let (_, port) = ends.get(&head.hostname)?;
        Some(format!("{}:{port}", head.hostname))
    });
    all.collect::<Vec<_>>().join(" ")
}

fn said(links: &[Link], heads: &[Head], remarks: &mut Remarks) {
    for link in links {
        let what = format!("link {}, network {}", link.name, link.network);
        remarks.add(Said::Seen, places(heads, &link.ends), what, "");
        if link.guessed {
            let why = "role = [\"san\", \"heartbeat\"], by the name of its ports; --san LINK says which links these are";
            let what = format!("clients reach pools by link {}", link.name);
            remarks.add(Said::Guessed, places(heads, &link.ends), what, why);
        }
    }
    if links.is_empty() {
        let why = "give each head an address in a network that they have in common, best on a cable of their own";
        remarks.add(Said::ToYou, "-", "no network joins the heads", why);
        return;
    }
    if links.len() == 1 {
        let why = "with one link, the failure of a cable or switch is the loss of a head: add one over another switch";
        remarks.add(Said::Doubtful, "-", "the heads have one link", why);
    }
    if !links.iter().any(|link| link.san) {
        let why = "pools have addresses on links whose role is \"san\"; --san LINK says which links these are";
        remarks.add(Said::ToYou, "-", "by which links clients come", why);
    }
}
