//! From the file's tables to a [`LabSpec`], every rule checked where its place is known.

mod networks;

use std::collections::BTreeMap;
use std::net::IpAddr;

use hawser_model::names::{HostName, LinkName};
use hawser_model::units::{Mtu, counted};
use ipnet::IpNet;
use toml::de::DeTable;

use networks::networks;

use super::reader::{Located, Source, Table, Wrong};
use crate::machines::{Card, Kind, Release};
use crate::name;
use crate::spec::{
    DEFAULT_MTU, LEAST_MTU, LabSpec, LinkSpec, MOST_LINKS, MOST_MTU, MOST_NODES, NodeSpec,
    PortSpec, Role, SwitchSpec, nth_ipv4, nth_ipv6,
};

/// Where each name stands, to say which one came first.
type Names = BTreeMap<String, usize>;

pub(super) fn lab(source: &Source<'_>) -> Result<LabSpec, Wrong> {
    let document = DeTable::parse(source.text).map_err(|e| {
        let span = e.span().unwrap_or(0..0);
        source.wrong(
            span,
            "",
            format!("not TOML: {}", e.message()),
            "TOML (toml.io)",
        )
    })?;
    let span = 0..0;
    let root = Table::new(source, document.get_ref(), span, String::new());
    root.only(&["switch", "link", "node", "client"])?;

    let mut names = Names::new();
    let mut switches = switches(source, &root, &mut names)?;
    let links = links(source, &root, &mut names, &mut switches)?;
    let members = root.tables("node")?;
    let clients = root.tables("client")?;
    if members.is_empty() {
        return Err(source.wrong(0..0, "node", "missing", "at least one [[node]]"));
    }
    if links.is_empty() {
        return Err(source.wrong(0..0, "link", "missing", "at least one [[link]]"));
    }
    let mut nodes = Vec::new();
    let mut taken = BTreeMap::new();
    let all = members
        .iter()
        .map(|table| (Role::Member, table))
        .chain(clients.iter().map(|table| (Role::Client, table)));
    for (index, (role, table)) in all.enumerate() {
        too_many(source, table, index, MOST_NODES)?;
        let name = named(source, table, "node", name::NODE, name::is_node, &mut names)?;
        let ports = ports(source, table, &links, index, &mut taken)?;
        nodes.push(NodeSpec {
            name: HostName(name),
            role,
            ports,
            machine: table.one_of("machine", [("uml", Kind::Uml), ("qemu", Kind::Qemu)])?,
        });
    }
    serial(source, &root, &links, &nodes)?;
    Ok(LabSpec {
        switches,
        links,
        nodes,
        cluster: None,
        kind: Kind::Namespace,
        release: Release::default(),
    })
}

/// Two ends are all that a null-modem cable has, and PPP gives each an address of IPv4.
fn serial(
    source: &Source<'_>,
    root: &Table<'_, '_>,
    links: &[LinkSpec],
    nodes: &[NodeSpec],
) -> Result<(), Wrong> {
    let tables = root.tables("link")?;
    for (link, table) in links.iter().zip(&tables).filter(|(link, _)| link.serial) {
        let is_on = |node: &&NodeSpec| node.ports.iter().any(|port| port.link == link.name);
        let on = nodes.iter().filter(is_on).count();
        let (key, found, allowed) = match (on, link.ipv4, link.ipv6) {
            (2, Some(_), None) => continue,
            (2, None, _) => (
                "ipv4",
                "none".to_owned(),
                "a network: the link is a null-modem cable",
            ),
            (2, ..) => (
                "ipv6",
                "a network".to_owned(),
                "\"none\": the link is a null-modem cable",
            ),
            _ => (
                "serial",
                format!("true, with {}", counted(on as u64, "node")),
                "two nodes on the link",
            ),
        };
        let field = format!("{}.{key}", table.field);
        return Err(source.wrong(table.span.clone(), &field, found, allowed));
    }
    Ok(())
}

fn switches(
    source: &Source<'_>,
    root: &Table<'_, '_>,
    names: &mut Names,
) -> Result<Vec<SwitchSpec>, Wrong> {
    let mut switches = Vec::new();
    for (index, table) in root.tables("switch")?.iter().enumerate() {
        too_many(source, table, index, MOST_LINKS)?;
        table.only(&["name", "snooping", "querier"])?;
        switches.push(SwitchSpec {
            name: named(
                source,
                table,
                "switch",
                name::INTERFACE,
                name::is_interface,
                names,
            )?,
            snooping: table.flag("snooping")?,
            querier: table.flag("querier")?,
        });
    }
    Ok(switches)
}

fn links(
    source: &Source<'_>,
    root: &Table<'_, '_>,
    names: &mut Names,
    switches: &mut Vec<SwitchSpec>,
) -> Result<Vec<LinkSpec>, Wrong> {
    let mut links: Vec<LinkSpec> = Vec::new();
    for (index, table) in root.tables("link")?.iter().enumerate() {
        too_many(source, table, index, MOST_LINKS)?;
        table.only(&["name", "switch", "mtu", "ipv4", "ipv6", "card", "serial"])?;
        let name = named(
            source,
            table,
            "link",
            name::INTERFACE,
            name::is_interface,
            names,
        )?;
        let switch = match table.text("switch")? {
            Some(found) => {
                let known = switches.iter().map(|s| s.name.as_str());
                if !switches.iter().any(|s| s.name == found.value) {
                    let (span, field) = (found.span.clone(), &found.field);
                    return Err(source.unknown(span, field, "no switch", found.value, known));
                }
                found.value.to_owned()
            }
            None => own_switch(source, table, index, switches, names)?,
        };
        let (ipv4, mut ipv6) = networks(source, table, index, &links)?;
        let serial = table.flag("serial")?;
        if serial && table.text("ipv6")?.is_none() {
            ipv6 = None;
        }
        links.push(LinkSpec {
            name: LinkName(name),
            switch,
            mtu: table
                .integer("mtu", LEAST_MTU..=MOST_MTU)?
                .map_or(DEFAULT_MTU, Mtu),
            ipv4,
            ipv6,
            card: table
                .one_of("card", Card::ALL.map(|it| (it.word(), it)))?
                .unwrap_or_default(),
            serial,
        });
    }
    Ok(links)
}

/// A switch for a link that names none: `sw` and the link's number, unless the file has it.
fn own_switch(
    source: &Source<'_>,
    table: &Table<'_, '_>,
    index: usize,
    switches: &mut Vec<SwitchSpec>,
    names: &mut Names,
) -> Result<String, Wrong> {
    let name = format!("sw{index}");
    if switches.iter().any(|s| s.name == name) {
        return Ok(name);
    }
    if names.insert(name.clone(), table.span.start).is_some() {
        let found = format!("missing, and \"{name}\" is the name of something else");
        let field = format!("{}.switch", table.field);
        return Err(source.wrong(table.span.clone(), &field, found, "a declared switch"));
    }
    switches.push(SwitchSpec {
        name: name.clone(),
        snooping: false,
        querier: false,
    });
    Ok(name)
}

fn ports(
    source: &Source<'_>,
    table: &Table<'_, '_>,
    links: &[LinkSpec],
    index: usize,
    taken: &mut BTreeMap<IpAddr, String>,
) -> Result<Vec<PortSpec>, Wrong> {
    table.only(&["name", "links", "addresses", "machine"])?;
    let find = |found: &Located<&str>| {
        let known = links.iter().map(|l| l.name.as_str());
        links
            .iter()
            .find(|l| l.name.as_str() == found.value)
            .ok_or_else(|| {
                source.unknown(
                    found.span.clone(),
                    &found.field,
                    "no link",
                    found.value,
                    known,
                )
            })
    };
    let mut on: Vec<&LinkSpec> = Vec::new();
    match table.texts("links")? {
        None => on.extend(links),
        Some(list) => {
            for item in &list {
                let link = find(item)?;
                if on.contains(&link) {
                    let found = format!("\"{}\" a second time", item.value);
                    let allowed = "each link once";
                    return Err(source.wrong(item.span.clone(), &item.field, found, allowed));
                }
                on.push(link);
            }
        }
    }
    let mut given: BTreeMap<&str, Vec<Located<&str>>> = BTreeMap::new();
    if let Some(addresses) = table.table("addresses", "a table { LINK = \"ADDRESS\" }")? {
        for (link, values) in addresses.entries_as_texts()? {
            let name = find(&link)?.name.as_str();
            if !on.iter().any(|l| l.name.as_str() == name) {
                let found = format!("the node is not on link \"{name}\"");
                let allowed = "addresses on the node's links";
                return Err(source.wrong(link.span, &link.field, found, allowed));
            }
            given.insert(name, values);
        }
    }
    on.into_iter()
        .map(|link| {
            let given = given.remove(link.name.as_str()).unwrap_or_default();
            port(source, table, link, index, &given, taken)
        })
        .collect()
}

fn port(
    source: &Source<'_>,
    table: &Table<'_, '_>,
    link: &LinkSpec,
    index: usize,
    given: &[Located<&str>],
    taken: &mut BTreeMap<IpAddr, String>,
) -> Result<PortSpec, Wrong> {
    let mut port = PortSpec {
        link: link.name.clone(),
        ipv4: link.ipv4.and_then(|net| nth_ipv4(net, index)),
        ipv6: link.ipv6.and_then(|net| nth_ipv6(net, index)),
    };
    let networks: Vec<String> = [link.ipv4.map(IpNet::V4), link.ipv6.map(IpNet::V6)]
        .into_iter()
        .flatten()
        .map(|net| net.to_string())
        .collect();
    let networks = networks.join(" or ");
    let mut places = BTreeMap::new();
    for text in given {
        let allowed = format!("an address in {networks}");
        let inside = match text.value.parse::<IpAddr>() {
            Ok(IpAddr::V4(a)) => link.ipv4.filter(|net| net.contains(&a)).map(|_| {
                port.ipv4 = Some(a);
                IpAddr::V4(a)
            }),
            Ok(IpAddr::V6(a)) => link.ipv6.filter(|net| net.contains(&a)).map(|_| {
                port.ipv6 = Some(a);
                IpAddr::V6(a)
            }),
            Err(_) => {
                let found = format!("\"{}\" is no address", text.value);
                return Err(source.wrong(text.span.clone(), &text.field, found, allowed));
            }
        };
        match inside {
            Some(address) => {
                places.insert(address, (text.span.clone(), text.field.clone()));
            }
            None => {
                let found = format!("{} is not in the link's network", text.value);
                return Err(source.wrong(text.span.clone(), &text.field, found, allowed));
            }
        }
    }
    if link.ipv4.is_some() && port.ipv4.is_none() {
        let found = format!("{networks} has no address left for node {}", index + 1);
        let allowed = "a larger network, or addresses by hand";
        return Err(source.wrong(table.span.clone(), &table.field, found, allowed));
    }
    let name = table.needed_text("name")?.value;
    for address in [port.ipv4.map(IpAddr::V4), port.ipv6.map(IpAddr::V6)]
        .into_iter()
        .flatten()
    {
        if let Some(other) = taken.insert(address, name.to_owned()) {
            let here = (
                table.span.clone(),
                format!("{}.addresses.{}", table.field, link.name),
            );
            let (span, field) = places.get(&address).cloned().unwrap_or(here);
            let found = format!("{address} is {other}'s already");
            return Err(source.wrong(span, &field, found, "an address of its own"));
        }
    }
    Ok(port)
}

/// The table's name, checked and not taken.
fn named(
    source: &Source<'_>,
    table: &Table<'_, '_>,
    what: &str,
    allowed: &str,
    fits: impl Fn(&str) -> bool,
    names: &mut Names,
) -> Result<String, Wrong> {
    let name = table.needed_text("name")?;
    if !fits(name.value) {
        let found = format!("\"{}\" cannot name a {what}", name.value);
        return Err(source.wrong(name.span, &name.field, found, allowed));
    }
    // One namespace for all: `exec` and `cut` take a node's or a switch's name.
    match names.insert(name.value.to_owned(), name.span.start) {
        None => Ok(name.value.to_owned()),
        Some(before) => {
            let line = source.text[..before].matches('\n').count() + 1;
            let found = format!("\"{}\" is taken on line {line}", name.value);
            Err(source.wrong(name.span, &name.field, found, "a name of its own"))
        }
    }
}

fn too_many(
    source: &Source<'_>,
    table: &Table<'_, '_>,
    index: usize,
    most: usize,
) -> Result<(), Wrong> {
    if index < most {
        return Ok(());
    }
    let span = table.span.clone();
    Err(source.wrong(
        span,
        &table.field,
        format!("number {}", index + 1),
        format!("{most}"),
    ))
}

#[cfg(test)]
mod tests;
