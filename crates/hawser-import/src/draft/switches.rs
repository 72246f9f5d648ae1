//! What is at the other end of a link's cables, as LLDP tells it, and which links would fail together.

use std::collections::{BTreeMap, BTreeSet};

use super::links::Link;
use super::{Head, Remarks, Said};

/// Names each link's switch where it is heard.
pub(super) fn name(links: &mut [Link], heads: &[Head], remarks: &mut Remarks) {
    let mut silent = true;
    for link in links.iter_mut() {
        let mut systems: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for head in heads {
            let Some((_, port)) = link.ends.get(&head.hostname) else {
                continue;
            };
            let ports = below(head, port);
            let heard = head.around.neighbours.iter().flatten();
            for neighbour in heard.filter(|it| ports.contains(it.interface.as_str())) {
                let place = format!("{}:{}", head.hostname, neighbour.interface);
                let at = match neighbour.port.as_str() {
                    "" => place,
                    port => format!("{place} at {port}"),
                };
                systems.entry(&neighbour.system).or_default().push(at);
            }
        }
        silent &= systems.is_empty();
        let is_head = |system: &str| {
            let short = system.split('.').next().unwrap_or_default();
            heads.iter().any(|head| {
                let own = head.hostname.split('.').next().unwrap_or_default();
                own == short
            })
        };
        let all: Vec<(&str, String)> = systems
            .into_iter()
            .map(|(system, at)| (system, at.join(" and ")))
            .collect();
        match &all[..] {
            [] => {}
            [(system, at)] if !is_head(system) => {
                let what = format!("link {} runs over switch {system}", link.name);
                remarks.add(Said::Seen, "LLDP", what, at);
                link.switch = Some((*system).to_owned());
            }
            several if several.iter().all(|(system, _)| is_head(system)) => {
                let at: Vec<&str> = several.iter().map(|(_, at)| at.as_str()).collect();
                let what = format!("link {} is a cable between the heads", link.name);
                remarks.add(Said::Seen, "LLDP", what, at.join(" and "));
            }
            several => {
                let names: Vec<&str> = several.iter().map(|(system, _)| *system).collect();
                let what = format!("link {} runs over {}", link.name, names.join(" and "));
                let why = "switch = … has one name: write that of what fails as a whole";
                remarks.add(Said::ToYou, "LLDP", what, why);
            }
        }
    }
    if silent && !links.is_empty() {
        let whys = heads.iter().map(|head| &head.around.unseen.neighbours);
        let why = whys.into_iter().find(|why| !why.is_empty());
        let heard = why.map_or_else(
            || "nothing is heard".to_owned(),
            |why| format!("nobody listens: {why}"),
        );
        let what = format!("the links' switches; by LLDP {heard}");
        let why = "switch = … of each link, so that `plan` warns of two that would fail together";
        remarks.add(Said::ToYou, "-", what, why);
    }
    together(links, heads, remarks);
}

/// An interface and all below it: ports of a bond, the port of a VLAN.
fn below<'a>(head: &'a Head, port: &'a str) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut left = vec![port];
    while let Some(name) = left.pop() {
        if found.insert(name) {
            let lower = head.ports.get(name).map(|port| &port.lower);
            left.extend(lower.into_iter().flatten().map(String::as_str));
        }
    }
    found
}

/// Links over one cable or one switch are one link to whoever pulls it.
fn together(links: &[Link], heads: &[Head], remarks: &mut Remarks) {
    for (i, second) in links.iter().enumerate() {
        for first in &links[..i] {
            let both = format!("links {} and {}", first.name, second.name);
            if let (Some(a), true) = (&first.switch, first.switch == second.switch) {
                let what = format!("{both} run over the same switch, {a}");
                remarks.add(Said::Doubtful, "LLDP", what, "they fail together");
            }
            let shared = heads.iter().find_map(|head| {
                let on = |link: &Link| link.ends.get(&head.hostname).map(|(_, port)| port.clone());
                let (a, b) = (on(first)?, on(second)?);
                let shared = below(head, &a);
                let shared = below(head, &b)
                    .into_iter()
                    .find(|port| shared.contains(port))?;
                Some(format!("{}:{shared}", head.hostname))
            });
            if let Some(place) = shared {
                remarks.add(
                    Said::Doubtful,
                    place,
                    format!("{both} share it"),
                    "they fail together",
                );
            }
        }
    }
}
