//! The `interface` sections of `totem`: knet's links, and the rings of Corosync 1 and 2.

use std::collections::BTreeMap;
use std::net::IpAddr;

use hawser_model::cluster_file::FIRST_PORT;

use super::section::Section;
use crate::page::{LineVerdict, Page};
use crate::picture::{Link, Picture, Said};
use crate::place::quoted;

/// Reads them, by their numbers. Without a list of nodes they are all that says which links there are.
pub(super) fn read<'a>(
    whole: &'a Section,
    listed: bool,
    picture: &mut Picture,
    page: &mut Page,
) -> BTreeMap<usize, &'a Section> {
    let mut found = BTreeMap::new();
    for totem in whole.all("totem") {
        for interface in totem.all("interface") {
            let number = interface.get("linknumber").or(interface.get("ringnumber"));
            let number = match number {
                None => 0,
                Some((text, at)) => text.parse::<usize>().unwrap_or_else(|_| {
                    page.mistake(
                        at,
                        format!("link {}", quoted(text)),
                        "it is no number: 0 is taken",
                    );
                    0
                }),
            };
            keys(interface, listed, page);
            if !listed {
                bound(interface, number, picture, page);
            }
            if found.insert(number, interface).is_some() {
                if let Some(at) = &interface.at {
                    let why = "the last one counts";
                    page.mistake(at, format!("a second interface of link {number}"), why);
                }
            }
        }
    }
    found
}

/// The link's port, if it is not the one that Corosync gives it anyway.
pub(super) fn port(interface: &Section, number: usize) -> Option<Said<u16>> {
    let (text, at) = interface.get("mcastport")?;
    let port: u16 = text.parse().ok().filter(|port| *port > 0)?;
    let own = u16::try_from(number).ok()?.checked_add(FIRST_PORT);
    (own != Some(port)).then(|| Said::new(port, at))
}

fn keys(interface: &Section, listed: bool, page: &mut Page) {
    for (key, value, at) in &interface.values {
        let what = format!("{key}: {}", quoted(value));
        match key.as_str() {
            "linknumber" | "ringnumber" | "knet_ping_interval" | "knet_ping_timeout" => {}
            "knet_link_priority" if value.parse::<u8>().is_ok() => {}
            "knet_transport" if value == "udp" => {}
            "mcastport" => match value.parse::<u16>() {
                Ok(0) | Err(_) => page.mistake(at, what, "a UDP port is a number from 1 to 65535"),
                Ok(_) => page.understood(at, what, "port of the link"),
            },
            "bindnetaddr" if listed => page.not_needed(at, what, "each node has its address"),
            "bindnetaddr" => {}
            "mcastaddr" | "broadcast" | "ttl" => {
                page.changed(at, what, "Corosync sends to each node");
            }
            "transport" => page.changed(at, what, "knet: several links, encrypted"),
            _ => page.unsaid(at, what, "Hawser leaves it to Corosync's default"),
        }
    }
    for member in interface.all("member") {
        let Some((address, at)) = member.get("memberaddr") else {
            continue;
        };
        let what = format!("member {}", quoted(address));
        match listed {
            true => page.not_needed(at, what, "the list of nodes has it"),
            false => page.unsaid(at, what, "no source says which node has this address"),
        }
    }
}

/// A ring that is known by the network that it is bound to.
fn bound(interface: &Section, number: usize, picture: &mut Picture, page: &mut Page) {
    let Some((text, at)) = interface.get("bindnetaddr") else {
        return;
    };
    let Ok(ip) = text.parse::<IpAddr>() else {
        return page.mistake(
            at,
            format!("bindnetaddr: {}", quoted(text)),
            "it is no address",
        );
    };
    picture.links.push(Link {
        at: at.clone(),
        name: picture.link_name(&format!("ring{number}")),
        heartbeat: true,
        san: false,
        network: None,
        priority: None,
        port: port(interface, number),
        interface: None,
        bound: Some(ip),
    });
    page.understood(
        at,
        format!("bindnetaddr: {text}"),
        "a link on the network of this address",
    );
}

/// Links, and nobody who is on them.
pub(crate) fn nobody(picture: &Picture, page: &mut Page) {
    let bound = picture.links.iter().find(|link| link.bound.is_some());
    if let (Some(link), true) = (bound, picture.nodes.is_empty()) {
        page.add(
            LineVerdict::Missing,
            Some(&link.at),
            "the names of the nodes",
            "give `crm configure show` or the CIB beside this file, and --interfaces NODE=FILE for their addresses",
        );
    }
}
