//! `hawser.toml`.

use std::fmt::Write as _;

use super::{from, key, list, quoted, time};
use crate::picture::{Bmc, Link, Node, Picture, Pool, PoolKind, Said};
use crate::translate::ipmi::secret_name;

/// The file's text. `secrets` is the folder of the secrets' files.
pub(crate) fn text(picture: &Picture, secrets: &str) -> String {
    let mut out = String::from(
        "# Made by `hawser import`; import.txt says what became of each line of the sources. From now on this file counts.\n",
    );
    // Writing into a String cannot fail.
    let _ = cluster(&mut out, picture)
        .and_then(|()| timing(&mut out, picture))
        .and_then(|()| quorum(&mut out, picture))
        .and_then(|()| picture.links.iter().try_for_each(|it| link(&mut out, it)))
        .and_then(|()| {
            picture
                .nodes
                .iter()
                .try_for_each(|it| node(&mut out, it, secrets))
        })
        .and_then(|()| fencing(&mut out, picture, secrets))
        .and_then(|()| exports(&mut out, picture))
        .and_then(|()| picture.pools.iter().try_for_each(|it| pool(&mut out, it)));
    out
}

type Written = std::fmt::Result;

fn cluster(out: &mut String, picture: &Picture) -> Written {
    let name = picture.name.as_deref().unwrap_or("cluster");
    writeln!(out, "\n[cluster]\nname = {}", quoted(name))?;
    if let Some(Said {
        value: (cipher, hash),
        at,
    }) = &picture.crypto
    {
        writeln!(
            out,
            "crypto = {{ cipher = {}, hash = {} }}   {}",
            quoted(cipher),
            quoted(hash),
            from(at)
        )?;
    }
    if let Some(Said { value, at }) = &picture.compression {
        let mut keys = format!("model = {}", quoted(&value.model));
        if let Some(level) = value.level {
            write!(keys, ", level = {level}")?;
        }
        if let Some(threshold) = value.threshold {
            write!(keys, ", threshold = {threshold}")?;
        }
        writeln!(out, "compression = {{ {keys} }}   {}", from(at))?;
    }
    if let Some(Said { value, at }) = &picture.link_mode {
        writeln!(out, "link_mode = {}   {}", quoted(value), from(at))?;
    }
    if let Some(Said { value, at }) = &picture.automatic_failback {
        let word = if *value { "automatic" } else { "manual" };
        writeln!(out, "failback = \"{word}\"   {}", from(at))?;
    }
    if let Some(Said { value, at }) = &picture.maintenance {
        writeln!(out, "maintenance = {value}   {}", from(at))?;
    }
    if !picture.properties.is_empty() {
        writeln!(out, "\n[cluster.properties]")?;
        for (name, Said { value, at }) in &picture.properties {
            writeln!(out, "{} = {}   {}", key(name), quoted(value), from(at))?;
        }
    }
    Ok(())
}

fn timing(out: &mut String, picture: &Picture) -> Written {
    let timing = &picture.timing;
    let all = [
        ("token", &timing.token),
        ("consensus", &timing.consensus),
        ("keepalive", &timing.keepalive),
        ("warning", &timing.warning),
        ("dead", &timing.dead),
        ("initial", &timing.initial),
    ];
    if all.iter().all(|(_, said)| said.is_none()) {
        return Ok(());
    }
    writeln!(out, "\n[timing]")?;
    if timing.dead.is_some() {
        writeln!(out, "profile = \"heartbeat\"")?;
    }
    for (name, said) in all {
        if let Some(Said { value, at }) = said {
            writeln!(out, "{name} = {}   {}", time(*value), from(at))?;
        }
    }
    Ok(())
}

fn quorum(out: &mut String, picture: &Picture) -> Written {
    if let Some(Said { value, at }) = &picture.wait_for_all {
        writeln!(out, "\n[quorum]\nwait_for_all = {value}   {}", from(at))?;
    }
    if let Some(Said { value, at }) = &picture.device {
        writeln!(out, "\n[quorum.device]   {}", from(at))?;
        writeln!(out, "host = {}", quoted(&value.host))?;
        if let Some(algorithm) = &value.algorithm {
            writeln!(out, "algorithm = {}", quoted(algorithm))?;
        }
        if let Some(tls) = &value.tls {
            writeln!(out, "tls = {}", quoted(tls))?;
        }
    }
    Ok(())
}

fn link(out: &mut String, link: &Link) -> Written {
    writeln!(out, "\n[[link]]   {}", from(&link.at))?;
    writeln!(out, "name = {}", quoted(&link.name))?;
    match (link.san, link.heartbeat) {
        (true, true) => writeln!(out, "role = [\"san\", \"heartbeat\"]")?,
        (true, false) => writeln!(out, "role = \"san\"")?,
        (false, _) => {}
    }
    if let Some(network) = &link.network {
        writeln!(out, "network = \"{network}\"")?;
    }
    if let Some(priority) = link.priority {
        writeln!(out, "priority = {priority}")?;
    }
    if let Some(Said { value, at }) = &link.port {
        writeln!(out, "port = {value}   {}", from(at))?;
    }
    Ok(())
}

fn node(out: &mut String, node: &Node, secrets: &str) -> Written {
    writeln!(out, "\n[[node]]   {}", from(&node.name.at))?;
    writeln!(out, "name = {}", quoted(&node.name.value))?;
    if let Some(id) = node.id {
        writeln!(out, "id = {id}")?;
    }
    if !node.addresses.is_empty() {
        writeln!(out, "\n[node.addresses]")?;
        for (link, Said { value, at }) in &node.addresses {
            writeln!(out, "{} = \"{value}\"   {}", key(link), from(at))?;
        }
    }
    match &node.bmc {
        Some(bmc) => self::bmc(out, &node.name.value, bmc, secrets),
        None => Ok(()),
    }
}

fn bmc(out: &mut String, node: &str, bmc: &Bmc, secrets: &str) -> Written {
    writeln!(out, "\n[node.bmc]   {}", from(&bmc.at))?;
    writeln!(out, "address = {}", quoted(&bmc.address))?;
    writeln!(out, "username = {}", quoted(&bmc.username))?;
    let password = format!("file:{secrets}/{}", secret_name(node));
    writeln!(out, "password = {}", quoted(&password))?;
    if let Some(agent) = &bmc.agent {
        writeln!(out, "agent = {}", quoted(agent))?;
    }
    if let Some(lanplus) = bmc.lanplus {
        writeln!(out, "lanplus = {lanplus}")?;
    }
    if let Some(cipher) = bmc.cipher {
        writeln!(out, "cipher = {cipher}")?;
    }
    if let Some(wait) = bmc.power_wait {
        writeln!(out, "power_wait = {}", time(wait))?;
    }
    pairs(out, "options", &bmc.options)
}

/// `name = { a = "b" }`, if there is anything.
fn pairs(
    out: &mut String,
    name: &str,
    pairs: &std::collections::BTreeMap<String, String>,
) -> Written {
    if pairs.is_empty() {
        return Ok(());
    }
    let all: Vec<String> = pairs
        .iter()
        .map(|(k, v)| format!("{} = {}", key(k), quoted(v)))
        .collect();
    writeln!(out, "{name} = {{ {} }}", all.join(", "))
}

fn fencing(out: &mut String, picture: &Picture, secrets: &str) -> Written {
    if picture.action.is_some() || !picture.delays.is_empty() {
        writeln!(out, "\n[fencing]")?;
    }
    if let Some(Said { value, at }) = &picture.action {
        writeln!(out, "action = {}   {}", quoted(value), from(at))?;
    }
    if !picture.delays.is_empty() {
        let delays: Vec<String> = picture
            .delays
            .iter()
            .map(|(node, said)| format!("{} = {}", key(node), time(said.value)))
            .collect();
        let from = picture.delays.values().next().map(|said| from(&said.at));
        writeln!(
            out,
            "delay = {{ {} }}   {}",
            delays.join(", "),
            from.unwrap_or_default()
        )?;
    }
    for device in &picture.devices {
        writeln!(out, "\n[[fencing.device]]   {}", from(&device.at))?;
        writeln!(out, "name = {}", quoted(&device.name))?;
        writeln!(out, "agent = {}", quoted(&device.agent))?;
        pairs(out, "ports", &device.ports)?;
        if let Some(level) = device.level {
            writeln!(out, "level = {level}")?;
        }
        pairs(out, "options", &device.options)?;
        let files = device.secrets.iter();
        let files = files.map(|(name, file)| (name.clone(), format!("file:{secrets}/{file}")));
        pairs(out, "secrets", &files.collect())?;
    }
    Ok(())
}

fn exports(out: &mut String, picture: &Picture) -> Written {
    if picture.backend.is_none() && picture.authority.is_none() {
        return Ok(());
    }
    writeln!(out, "\n[exports]")?;
    if let Some(Said { value, at }) = &picture.backend {
        writeln!(out, "backend = {}   {}", quoted(value), from(at))?;
    }
    if let Some(Said { value, at }) = &picture.authority {
        writeln!(out, "iqn = {}   {}", quoted(value), from(at))?;
    }
    Ok(())
}

fn pool(out: &mut String, pool: &Pool) -> Written {
    writeln!(out, "\n[[pool]]   {}", from(&pool.at))?;
    writeln!(out, "name = {}", quoted(&pool.name))?;
    let kind = match pool.kind {
        PoolKind::Zfs => "zfs",
        PoolKind::Filesystem => "filesystem",
        PoolKind::Lvm => "lvm",
    };
    writeln!(out, "kind = \"{kind}\"")?;
    let texts = [
        ("zpool", &pool.zpool),
        ("import_options", &pool.import_options),
        ("volume_group", &pool.volume_group),
        ("device", &pool.device),
        ("directory", &pool.directory),
        ("fstype", &pool.fstype),
        ("options", &pool.options),
    ];
    for (name, value) in texts {
        if let Some(value) = value {
            writeln!(out, "{name} = {}", quoted(value))?;
        }
    }
    if let Some(Said {
        value: (node, score),
        at,
    }) = &pool.prefer
    {
        writeln!(out, "prefer = {}   {}", quoted(node), from(at))?;
        writeln!(out, "preference = {score}")?;
    }
    if let Some(Said { value, at }) = &pool.nodes {
        writeln!(out, "nodes = {}   {}", list(value), from(at))?;
    }
    if let Some(Said { value, at }) = &pool.exports {
        writeln!(out, "exports = {}   {}", quoted(value), from(at))?;
    }
    if !pool.nfs.is_empty() {
        writeln!(out, "nfs = [")?;
        for Said { value, at } in &pool.nfs {
            let mut keys = format!(
                "directory = {}, clients = {}",
                quoted(&value.directory),
                quoted(&value.clients)
            );
            if let Some(options) = &value.options {
                write!(keys, ", options = {}", quoted(options))?;
            }
            writeln!(out, "  {{ {keys} }},   {}", from(at))?;
        }
        writeln!(out, "]")?;
    }
    if !pool.timeouts.is_empty() {
        let all: Vec<String> = pool
            .timeouts
            .iter()
            .map(|(op, said)| format!("{op} = {}", time(said.value)))
            .collect();
        writeln!(out, "timeouts = {{ {} }}", all.join(", "))?;
    }
    addresses(out, pool)?;
    hooks(out, pool)?;
    super::adopted::adopted(out, pool)
}

fn hooks(out: &mut String, pool: &Pool) -> Written {
    if !pool.hooks.is_empty() {
        writeln!(out, "\n[pool.hooks]")?;
    }
    for (moment, Said { value, at }) in &pool.hooks {
        let mut keys = format!(
            "program = {}, timeout = {}",
            quoted(&value.program),
            time(value.timeout)
        );
        if value.required != moment.is_required() {
            write!(keys, ", required = {}", value.required)?;
        }
        writeln!(out, "{} = {{ {keys} }}   {}", moment.key(), from(at))?;
    }
    Ok(())
}

fn addresses(out: &mut String, pool: &Pool) -> Written {
    let mut links: Vec<&str> = pool
        .addresses
        .iter()
        .filter_map(|a| a.link.as_deref())
        .collect();
    links.sort_unstable();
    links.dedup();
    if links.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n[pool.addresses]")?;
    for link in links {
        let on: Vec<_> = pool
            .addresses
            .iter()
            .filter(|a| a.link.as_deref() == Some(link))
            .collect();
        let texts = on.iter().map(|a| match &a.nic {
            Some(nic) => format!("{{ address = \"{}\", nic = {} }}", a.ip, quoted(nic)),
            None => quoted(&a.ip.to_string()),
        });
        let texts: Vec<String> = texts.collect();
        let value = match &texts[..] {
            [one] => one.clone(),
            several => format!("[{}]", several.join(", ")),
        };
        let from = on.first().map(|a| from(&a.at)).unwrap_or_default();
        writeln!(out, "{} = {value}   {from}", key(link))?;
    }
    Ok(())
}
