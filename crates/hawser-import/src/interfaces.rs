//! The addresses of a node, as somebody printed them there.

use std::net::IpAddr;

use ipnet::IpNet;

use crate::page::Page;
use crate::picture::Picture;
use crate::place::{Malformed, quoted};
use crate::source::Source;

const ALLOWED: &str = "what `ip address`, `ip -br address` or `ipadm show-addr` prints";

/// Reads `ip address`, `ip -br address` or illumos's `ipadm show-addr`.
pub(crate) fn read(
    source: &Source,
    picture: &mut Picture,
    page: &mut Page,
) -> Result<(), Malformed> {
    let name = source.node.as_deref().unwrap_or_default();
    let mut found = Vec::new();
    let mut current: Option<String> = None;
    for (i, line) in source.text.lines().enumerate() {
        let at = source.at(i + 1);
        let words: Vec<&str> = line.split_whitespace().collect();
        // `2: eth0@if7: <BROADCAST,…> mtu 1500`
        let numbered = || {
            let number = words.first()?.strip_suffix(':')?;
            number.parse::<u32>().ok()?;
            words.get(1)?.strip_suffix(':')
        };
        if let Some(interface) = numbered() {
            current = Some(plain(interface));
            continue;
        }
        let (interface, addresses): (String, Vec<&str>) = match words[..] {
            // `    inet 10.77.1.1/24 brd …`
            ["inet" | "inet6", address, ..] => match &current {
                Some(interface) => (interface.clone(), vec![address]),
                None => return Err(Malformed::new(&at, quoted(line.trim()), ALLOWED)),
            },
            // `igb0/v4  static  ok  10.77.1.1/24`
            [
                object,
                "static" | "dhcp" | "addrconf" | "from-gz" | "inherited",
                _,
                address,
                ..,
            ] => {
                let interface = object.split('/').next().unwrap_or(object);
                (interface.to_owned(), vec![address])
            }
            // `eth0@if7  UP  10.77.1.1/24 fe80::1/64`
            [
                interface,
                "UP" | "DOWN" | "UNKNOWN" | "LOWERLAYERDOWN",
                ref rest @ ..,
            ] => (plain(interface), rest.to_vec()),
            _ => continue,
        };
        for text in addresses {
            // `fe80::1%igb0/10`: a scope of illumos.
            let bare: String = match text.split_once('%') {
                Some((ip, rest)) => {
                    let prefix = rest.split_once('/').map_or("", |(_, p)| p);
                    format!("{ip}/{prefix}")
                }
                None => text.to_owned(),
            };
            let Ok(net) = bare.parse::<IpNet>() else {
                continue;
            };
            let local = match net.addr() {
                IpAddr::V4(ip) => ip.is_loopback() || ip.is_link_local(),
                IpAddr::V6(ip) => ip.is_loopback() || ip.is_unicast_link_local(),
            };
            if !local {
                found.push((interface.clone(), net, at.clone()));
            }
        }
    }
    let Some((_, _, at)) = found.first().cloned() else {
        return Err(Malformed::new(
            &source.at(1),
            format!("no address of {}", quoted(name)),
            ALLOWED,
        ));
    };
    let Some(node) = picture.node_mut(name) else {
        let known: Vec<&str> = picture
            .nodes
            .iter()
            .map(|n| n.name.value.as_str())
            .collect();
        return Err(Malformed::new(
            &source.at(1),
            format!("addresses of {}, which no source names", quoted(name)),
            match known.is_empty() {
                true => "a source that names the nodes (ha.cf, corosync.conf) beside it".into(),
                false => format!("a node that a source names: {}", known.join(", ")),
            },
        ));
    };
    page.understood(&at, format!("{} addresses of {name}", found.len()), "");
    node.interfaces = found;
    Ok(())
}

/// An interface without what it is stacked upon.
fn plain(interface: &str) -> String {
    interface.split('@').next().unwrap_or(interface).to_owned()
}
