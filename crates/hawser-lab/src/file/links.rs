//! The switches and links of a lab file.

use std::str::FromStr;

use hawser_model::names::LinkName;
use hawser_model::toml_file::{At, Found, Problem};
use ipnet::IpNet;

use super::{BrokenLab, LabFile, LinkEntry, Names, at_most};
use crate::name;
use crate::spec::{DEFAULT_MTU, LinkSpec, MOST_LINKS, SwitchSpec, default_ipv4, default_ipv6};

/// What names an interface may have, in words and as a test.
const INTERFACE: (&str, fn(&str) -> bool) = (name::INTERFACE, name::is_interface);

/// The switches, with those that links have of their own, and the links.
pub(super) fn read(
    file: &LabFile,
    names: &mut Names,
    found: &mut Found<BrokenLab>,
) -> (Vec<SwitchSpec>, Vec<LinkSpec>) {
    let declared = file.switch.iter().map(|it| &it.name);
    at_most(MOST_LINKS, "switches", declared, found);
    at_most(
        MOST_LINKS,
        "links",
        file.link.iter().map(|it| &it.name),
        found,
    );
    if file.link.is_empty() {
        found.push(BrokenLab::NoLink, 0..0);
    }
    let mut switches = Vec::new();
    for entry in &file.switch {
        names.take("switch", &entry.name, INTERFACE, found);
        switches.push(SwitchSpec {
            name: entry.name.get().clone(),
            snooping: entry.snooping,
            querier: entry.querier,
        });
    }
    let mut links: Vec<LinkSpec> = Vec::new();
    for (index, entry) in file.link.iter().enumerate() {
        names.take("link", &entry.name, INTERFACE, found);
        let switch = match &entry.switch {
            Some(named) => {
                is_declared(named, &switches, found);
                named.get().clone()
            }
            None => own_switch(entry, index, &mut switches, names, found),
        };
        let mut link = LinkSpec {
            name: LinkName(entry.name.get().clone()),
            switch,
            mtu: entry.mtu.unwrap_or(DEFAULT_MTU),
            ipv4: None,
            ipv6: None,
            card: entry.card,
            serial: entry.serial.as_ref().is_some_and(|it| **it),
        };
        networks(entry, index, &links, &mut link, found);
        links.push(link);
    }
    (switches, links)
}

fn is_declared(named: &At<String>, switches: &[SwitchSpec], found: &mut Found<BrokenLab>) {
    let known: Vec<String> = switches.iter().map(|it| it.name.clone()).collect();
    if !known.contains(named) {
        let problem = Problem::NoSuch {
            kind: "switch",
            found: named.get().clone(),
            allowed: known,
        };
        found.push(problem, named.span());
    }
}

/// A switch for a link that names none: `sw` and the link's number, unless the file has it.
fn own_switch(
    entry: &LinkEntry,
    index: usize,
    switches: &mut Vec<SwitchSpec>,
    names: &mut Names,
    found: &mut Found<BrokenLab>,
) -> String {
    let name = format!("sw{index}");
    if !switches.iter().any(|it| it.name == name) {
        if let Some(taken) = names.0.insert(name.clone(), entry.name.span()) {
            let broken = BrokenLab::SwitchTaken(name.clone());
            found.push_with(broken, entry.name.span(), taken);
        }
        switches.push(SwitchSpec {
            name: name.clone(),
            snooping: false,
            querier: false,
        });
    }
    name
}

/// Gives a link its networks, none of which overlaps one of the links before it: a node would send to one link's address over
/// the other link.
fn networks(
    entry: &LinkEntry,
    index: usize,
    before: &[LinkSpec],
    link: &mut LinkSpec,
    found: &mut Found<BrokenLab>,
) {
    let ipv6 = (!link.serial).then(|| default_ipv6(index));
    let read = (
        network("ipv4", &entry.ipv4, Some(default_ipv4(index)), found),
        network("ipv6", &entry.ipv6, ipv6, found),
    );
    let (Some(ipv4), Some(ipv6)) = read else {
        return;
    };
    (link.ipv4, link.ipv6) = (ipv4, ipv6);
    if ipv4.is_none() && ipv6.is_none() && !link.serial {
        found.push(BrokenLab::NoNetwork, entry.name.span());
    }
    for other in before {
        let both = [
            (
                "ipv4",
                &entry.ipv4,
                ipv4.map(IpNet::V4),
                other.ipv4.map(IpNet::V4),
            ),
            (
                "ipv6",
                &entry.ipv6,
                ipv6.map(IpNet::V6),
                other.ipv6.map(IpNet::V6),
            ),
        ];
        for (key, written, ours, theirs) in both {
            let (Some(ours), Some(theirs)) = (ours, theirs) else {
                continue;
            };
            if ours.contains(&theirs) || theirs.contains(&ours) {
                let span = written.as_ref().unwrap_or(&entry.name).span();
                let other = other.name.to_string();
                found.push(
                    BrokenLab::Overlap {
                        key,
                        ours,
                        theirs,
                        other,
                    },
                    span,
                );
            }
        }
    }
}

/// A network as it is written: none where the file says so, and nothing if it is no network.
fn network<N: FromStr + Into<IpNet> + Copy>(
    key: &'static str,
    written: &Option<At<String>>,
    default: Option<N>,
    found: &mut Found<BrokenLab>,
) -> Option<Option<N>> {
    let Some(text) = written else {
        return Some(default);
    };
    if text.get() == "none" {
        return Some(None);
    }
    let reason = match text.parse::<N>() {
        Ok(net) if net.into().trunc() == net.into() => return Some(Some(net)),
        Ok(net) => format!("\"{text}\" is an address in {}", net.into().trunc()),
        Err(_) => format!("\"{text}\" is no network"),
    };
    let example = match key {
        "ipv4" => "10.72.0.0/24",
        _ => "fd48:6177:7365::/64",
    };
    let problem = Problem::NotA {
        key: key.into(),
        reason,
        written: format!("a network such as \"{example}\", or \"none\""),
    };
    found.push(problem, text.span());
    None
}
