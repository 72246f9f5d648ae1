//! `haresources`: what ran where before there was Pacemaker.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use hawser_model::cluster_file::is_interface_name;

use crate::SourceLine;
use crate::page::Page;
use crate::picture::{Address, Mention, Picture, Pool, PoolKind, Said, usable_resource};
use crate::place::{Malformed, quoted};
use crate::source::Source;
use crate::translate::devices;

/// Reads the file.
pub(crate) fn read(
    source: &Source,
    picture: &mut Picture,
    page: &mut Page,
) -> Result<(), Malformed> {
    let mut open: Option<(SourceLine, String)> = None;
    let mut names = Names {
        taken: picture.pools.iter().map(|pool| pool.name.clone()).collect(),
        ..Names::default()
    };
    for (at, line) in source.lines() {
        let (at, mut whole) = open.take().unwrap_or((at, String::new()));
        whole.push(' ');
        match line.strip_suffix('\\') {
            Some(part) => {
                whole.push_str(part);
                open = Some((at, whole));
            }
            None => {
                whole.push_str(line);
                group(&at, &whole, &mut names, picture, page)?;
            }
        }
    }
    match open {
        Some((at, _)) => Err(Malformed::new(
            &at,
            "a line that goes on at the end of the file",
            "a last line without \\",
        )),
        None => Ok(()),
    }
}

fn group(
    at: &SourceLine,
    line: &str,
    names: &mut Names,
    picture: &mut Picture,
    page: &mut Page,
) -> Result<(), Malformed> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [node, resources @ ..] = &words[..] else {
        return Ok(());
    };
    if resources.is_empty() {
        return Err(Malformed::new(
            at,
            format!("{} and no resource", quoted(node)),
            "NODE RESOURCE …",
        ));
    }
    picture.mentions.push(Mention {
        name: Said::new((*node).to_owned(), at),
        what: format!("a line of node {}", quoted(node)),
        controller: None,
    });
    let mut pools: Vec<Pool> = Vec::new();
    let mut addresses = Vec::new();
    let mut foreign = Vec::new();
    for resource in resources {
        let mut parts = resource.split("::");
        let name = parts.next().unwrap_or_default();
        let arguments: Vec<&str> = parts.collect();
        match (name, &arguments[..]) {
            ("Filesystem", [device, directory, more @ ..]) => {
                // A volume group before it holds this file system.
                let lvm = pools
                    .last()
                    .is_some_and(|pool| pool.kind == PoolKind::Lvm && pool.directory.is_none());
                let mut new = match lvm.then(|| pools.pop()).flatten() {
                    Some(lvm) => lvm,
                    None => {
                        let short = directory.rsplit('/').next().unwrap_or(directory);
                        Pool::new(&names.free(short), PoolKind::Filesystem, at)
                    }
                };
                new.device = Some(devices::path(device));
                new.directory = Some((*directory).to_owned());
                new.fstype = more.first().map(|&t| t.to_owned());
                new.options = more.get(1).map(|&t| t.to_owned());
                pools.push(new);
            }
            ("Filesystem", _) => {
                let allowed = "Filesystem::DEVICE::DIRECTORY[::TYPE[::OPTIONS]]";
                let found = format!("{} without a directory", quoted(resource));
                return Err(Malformed::new(at, found, allowed));
            }
            ("LVM", [group, ..]) => {
                let mut new = Pool::new(&names.free(group), PoolKind::Lvm, at);
                new.volume_group = Some((*group).to_owned());
                pools.push(new);
            }
            ("ZFS" | "zfs", [name, ..]) => {
                let name = usable_resource(name).unwrap_or_else(|| "pool".into());
                names.taken.insert(name.clone());
                pools.push(Pool::new(&name, PoolKind::Zfs, at));
            }
            // An address of IPv6 has the colons that separate arguments.
            ("IPv6addr", [_, ..]) => {
                let whole = resource.trim_start_matches("IPv6addr::");
                addresses.push(ip(at, whole)?);
            }
            ("IPaddr" | "IPaddr2", [address, ..]) => addresses.push(ip(at, address)?),
            (address, []) if address.starts_with(|c: char| c.is_ascii_digit()) => {
                addresses.push(ip(at, address)?);
            }
            (other, [address, ..])
                if ["ipaddr", "ipaddr2"].contains(&&*other.to_ascii_lowercase()) =>
            {
                page.mistake(
                    at,
                    quoted(other),
                    "Heartbeat has no such script: IPaddr is meant",
                );
                addresses.push(ip(at, address)?);
            }
            (other, _) => foreign.push(other.to_owned()),
        }
    }
    for name in &foreign {
        page.foreign(
            at,
            quoted(name),
            "not a resource that Hawser builds: run it beside, by systemd or Pacemaker",
        );
    }
    let Some(first) = pools.first_mut() else {
        page.unsaid(
            at,
            format!(
                "{} with {} resources and no storage",
                quoted(node),
                resources.len()
            ),
            "a pool is storage and what hangs on it",
        );
        return Ok(());
    };
    first.addresses = addresses;
    if pools.len() > 1 {
        let names: Vec<&str> = pools.iter().map(|pool| pool.name.as_str()).collect();
        page.unsaid(
            at,
            format!("{} moved together", names.join(" and ")),
            format!(
                "each pool moves by itself; the addresses of the line are those of {}",
                names[0]
            ),
        );
    }
    for mut pool in pools {
        pool.prefer = Some(Said::new(((*node).to_owned(), 100), at));
        picture.pools.push(pool);
    }
    Ok(())
}

/// The names that pools have.
#[derive(Default)]
struct Names {
    taken: HashSet<String>,
    /// The number that the next of a name gets.
    next: HashMap<String, u32>,
}

impl Names {
    /// A name that no pool has yet.
    fn free(&mut self, wish: &str) -> String {
        let plain = usable_resource(wish).unwrap_or_else(|| "pool".into());
        let mut name = plain.clone();
        let next = self.next.entry(plain.clone()).or_insert(2);
        while !self.taken.insert(name.clone()) {
            name = format!("{plain}-{next}");
            *next += 1;
        }
        name
    }
}

/// `192.0.2.3/28/eth0/192.0.2.15`: prefix, interface and broadcast address in any order behind it.
fn ip(at: &SourceLine, text: &str) -> Result<Address, Malformed> {
    let mut parts = text.split('/');
    let first = parts.next().unwrap_or_default();
    let Ok(ip) = first.parse::<IpAddr>() else {
        return Err(Malformed::new(
            at,
            quoted(text),
            "ADDRESS[/PREFIX][/INTERFACE][/BROADCAST]",
        ));
    };
    let mut address = Address {
        at: at.clone(),
        ip,
        prefix: None,
        link: None,
        interface: None,
        nic: None,
        kept: None,
    };
    for part in parts {
        let longest = if ip.is_ipv4() { 32 } else { 128 };
        match part.parse::<u64>() {
            Ok(prefix) if (1..=longest).contains(&prefix) => {
                address.prefix = u8::try_from(prefix).ok();
            }
            Ok(_) => {
                let found = format!("the prefix {} of {}", quoted(part), quoted(text));
                let allowed = format!("a prefix from 1 to {longest}");
                return Err(Malformed::new(at, found, allowed));
            }
            Err(_) if part.parse::<IpAddr>().is_ok() => {}
            Err(_) => {
                let name = part.split(':').next().unwrap_or(part);
                address.nic = is_interface_name(name).then(|| name.to_owned());
                address.interface = Some(name.to_owned());
            }
        }
    }
    Ok(address)
}
