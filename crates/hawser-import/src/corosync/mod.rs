//! `corosync.conf` (corosync.conf(5)).

mod interfaces;
mod others;
mod quorum;
mod section;

use std::collections::BTreeMap;
use std::net::IpAddr;

use hawser_model::cluster_file::MAX_LINKS;

use crate::SourceLine;
use crate::page::Page;
use crate::picture::{Compression, Link, Picture, Said};
use crate::place::{Malformed, quoted};
use crate::source::Source;
pub(crate) use interfaces::nobody;
use section::{Section, parse};

/// Reads the file.
pub(crate) fn read(
    source: &Source,
    picture: &mut Picture,
    page: &mut Page,
) -> Result<(), Malformed> {
    let whole = parse(source)?;
    others::sections(&whole, page);
    for totem in whole.all("totem") {
        self::totem(totem, picture, page)?;
        times(totem, picture, page)?;
    }
    let listed = whole
        .all("nodelist")
        .any(|list| list.all("node").next().is_some());
    let interfaces = interfaces::read(&whole, listed, picture, page);
    nodes(&whole, &interfaces, picture, page)?;
    quorum::read(&whole, picture, page);
    Ok(())
}

fn totem(totem: &Section, picture: &mut Picture, page: &mut Page) -> Result<(), Malformed> {
    let word = |key: &str, allowed: &[&str], page: &mut Page| -> Option<Said<String>> {
        let (value, at) = totem.get(key)?;
        match allowed.contains(&value) {
            true => Some(Said::new(value.to_owned(), at)),
            false => {
                page.unsaid(
                    at,
                    format!("{key}: {}", quoted(value)),
                    format!("Hawser knows {}", allowed.join(", ")),
                );
                None
            }
        }
    };
    if let Some((name, at)) = totem.get("cluster_name") {
        picture.name = picture.name.take().or_else(|| Some(name.to_owned()));
        page.understood(at, format!("cluster_name: {name}"), "[cluster] name");
    }
    if let Some((transport, at)) = totem.get("transport").filter(|(t, _)| *t != "knet") {
        page.changed(
            at,
            format!("transport: {transport}"),
            "knet: several links, encrypted",
        );
    }
    let ciphers = ["none", "aes128", "aes192", "aes256"];
    let hashes = ["none", "md5", "sha1", "sha256", "sha384", "sha512"];
    let (cipher, hash) = (
        word("crypto_cipher", &ciphers, page),
        word("crypto_hash", &hashes, page),
    );
    match (cipher, hash) {
        (Some(cipher), Some(hash)) => {
            page.understood(
                &cipher.at,
                format!("{} and {}", cipher.value, hash.value),
                "[cluster] crypto",
            );
            picture.crypto = Some(Said::new((cipher.value, hash.value), &cipher.at));
        }
        _ => {
            let at = totem
                .get("secauth")
                .map(|(_, at)| at)
                .or(totem.values.first().map(|(.., at)| at));
            if let Some(at) = at {
                page.changed(
                    at,
                    "crypto_cipher and crypto_hash are not both there",
                    "aes256 and sha256, Hawser's own",
                );
            }
        }
    }
    if let Some(mode) = word("link_mode", &["passive", "active", "rr"], page) {
        page.understood(
            &mode.at,
            format!("link_mode: {}", mode.value),
            "[cluster] link_mode",
        );
        picture.link_mode = Some(mode).filter(|mode| mode.value != "passive");
    }
    let models = ["zlib", "lz4", "lz4hc", "lzo2", "lzma", "bzip2", "zstd"];
    if let Some(model) = word("knet_compression_model", &models, page) {
        let level = totem
            .get("knet_compression_level")
            .and_then(|(text, _)| text.parse().ok());
        let threshold = totem
            .get("knet_compression_threshold")
            .and_then(|(text, _)| text.parse().ok());
        page.understood(&model.at, &model.value, "[cluster] compression");
        let compression = Compression {
            model: model.value,
            level,
            threshold,
        };
        picture.compression = Some(Said::new(compression, &model.at));
    }
    others::rings(totem, picture, page);
    const KNOWN: [&str; 17] = [
        "version",
        "cluster_name",
        "transport",
        "crypto_cipher",
        "crypto_hash",
        "secauth",
        "link_mode",
        "token",
        "consensus",
        "token_coefficient",
        "token_warning",
        "knet_compression_model",
        "knet_compression_level",
        "knet_compression_threshold",
        "config_version",
        "ip_version",
        "rrp_mode",
    ];
    for (key, value, at) in totem
        .values
        .iter()
        .filter(|(key, ..)| !KNOWN.contains(&key.as_str()))
    {
        if key == "cluster_uuid" {
            page.not_needed(at, key, "a tool's note");
            continue;
        }
        page.unsaid(
            at,
            format!("{key}: {}", quoted(value)),
            "Hawser leaves it to Corosync's default",
        );
    }
    for section in totem.sections.iter().filter(|it| it.name != "interface") {
        if let Some(at) = &section.at {
            let what = format!("{} {{ … }} in totem", section.name);
            page.mistake(
                at,
                what,
                "Corosync knows no such section: nothing in it counts",
            );
        }
    }
    Ok(())
}

/// Hawser makes no time of a heartbeat that is longer: an hour.
const LONGEST_MS: u64 = 3_600_000;

/// Corosync's times: as they are, or as the four of Heartbeat from which Hawser makes exactly these.
fn times(totem: &Section, picture: &mut Picture, page: &mut Page) -> Result<(), Malformed> {
    let (token, consensus) = (totem.number("token")?, totem.number("consensus")?);
    let coefficient = totem.number("token_coefficient")?;
    let warning = totem.number("token_warning")?;
    let interface = totem.all("interface").next();
    let ping = |key: &str| interface.map_or(Ok(None), |interface| interface.number(key));
    let (interval, timeout) = (ping("knet_ping_interval")?, ping("knet_ping_timeout")?);
    let zero = coefficient.as_ref().is_some_and(|said| said.value == 0);
    let times = [&token, &consensus, &interval, &timeout];
    let usual = times.iter().all(|said| {
        let said = said.as_ref();
        said.is_none_or(|said| said.value <= LONGEST_MS)
    });
    if let (Some(token), Some(consensus), true, Some(interval), Some(timeout)) =
        (&token, &consensus, zero && usual, &interval, &timeout)
    {
        let dead = token.value + consensus.value;
        let whole = |part: u64| (part * dead).div_ceil(token.value.max(1));
        let share = |part: u64| (part * token.value / dead.max(1)).max(1);
        let percent = |part: u64| (part * 100 / dead.max(1)).clamp(1, 100);
        let said = warning.as_ref().map(|said| said.value);
        // Several milliseconds come to one of the shorter time; the percentage tells them apart.
        let fits =
            |ms: &u64| share(*ms) == timeout.value && said.is_none_or(|said| percent(*ms) == said);
        let keepalive = whole(interval.value);
        let silence = (whole(timeout.value)..=whole(timeout.value + 1)).find(fits);
        if let (Some(silence), true) = (silence, share(keepalive) == interval.value) {
            let timing = &mut picture.timing;
            // A consensus that is not the rest of dead is said as well.
            let rest = dead.saturating_sub(dead * 10 / 22);
            timing.consensus = (rest != consensus.value).then(|| consensus.clone());
            timing.dead = Some(Said::new(dead, &token.at));
            timing.keepalive = Some(Said::new(keepalive, &interval.at));
            timing.warning = Some(Said::new(silence, &timeout.at));
            let why = format!("[timing] profile = \"heartbeat\", dead = {dead} ms");
            page.understood(
                &token.at,
                format!("token {} and consensus {}", token.value, consensus.value),
                why,
            );
            return Ok(());
        }
    }
    for (name, said) in [("token", &token), ("consensus", &consensus)] {
        if let Some(said) = said {
            page.understood(
                &said.at,
                format!("{name}: {}", said.value),
                format!("[timing] {name}"),
            );
        }
    }
    let left = [
        ("token_coefficient", coefficient),
        ("token_warning", warning),
        ("knet_ping_interval", interval),
        ("knet_ping_timeout", timeout),
    ];
    for (name, said) in left {
        if let Some(said) = said {
            page.changed(
                &said.at,
                format!("{name}: {}", said.value),
                "Corosync's own default",
            );
        }
    }
    picture.timing.token = token.filter(|said| said.value != 3000);
    picture.timing.consensus = consensus;
    Ok(())
}

fn nodes(
    whole: &Section,
    interfaces: &BTreeMap<usize, &Section>,
    picture: &mut Picture,
    page: &mut Page,
) -> Result<(), Malformed> {
    let all: Vec<&Section> = whole
        .all("nodelist")
        .flat_map(|list| list.all("node"))
        .collect();
    let rings: Vec<usize> = (0..MAX_LINKS)
        .filter(|n| {
            all.iter()
                .any(|node| node.get(&format!("ring{n}_addr")).is_some())
        })
        .collect();
    for n in &rings {
        let key = format!("ring{n}_addr");
        let Some((_, at)) = all.iter().find_map(|node| node.get(&key)) else {
            continue;
        };
        let priority = interfaces
            .get(n)
            .and_then(|interface| interface.get("knet_link_priority"));
        let port = interfaces.get(n).and_then(|it| interfaces::port(it, *n));
        picture.links.push(Link {
            at: at.clone(),
            name: format!("ring{n}"),
            heartbeat: true,
            san: false,
            network: None,
            priority: priority.and_then(|(text, _)| text.parse().ok()),
            port,
            interface: None,
            bound: None,
        });
    }
    picture.listed |= !all.is_empty();
    for (i, node) in all.iter().enumerate() {
        let first = rings
            .iter()
            .find_map(|n| node.get(&format!("ring{n}_addr")));
        let Some((name, at)) = node.get("name").or(first) else {
            let at = node.values.first().map(|(.., at)| at.clone());
            let at = at.unwrap_or_else(|| SourceLine::new("corosync.conf", 1));
            return Err(Malformed::new(
                &at,
                "a node without a name",
                "name: and ringN_addr:",
            ));
        };
        let unnamed = node.get("name").is_none() && name.parse::<IpAddr>().is_ok();
        let (name, at) = (name.to_owned(), at.clone());
        let id = node
            .number("nodeid")?
            .and_then(|said| u32::try_from(said.value).ok());
        let node_ = picture.add_node(&name, &at);
        node_.unnamed = unnamed;
        node_.id = id.filter(|id| usize::try_from(*id).ok() != Some(i + 1));
        page.understood(&at, format!("node {name}"), "[[node]]");
        let number = id.map(|id| id.to_string());
        let before = all[..i].iter().find(|other| {
            let theirs = other.get("nodeid").map(|(id, _)| id.to_owned());
            number.is_some() && theirs == number
        });
        if let (Some(_), Some((id, at))) = (before, node.get("nodeid")) {
            page.mistake(at, format!("nodeid: {id}"), "another node has this number");
        }
        for (key, value, at) in &node.values {
            let ring = key
                .strip_prefix("ring")
                .and_then(|rest| rest.strip_suffix("_addr"));
            let ring = ring.and_then(|n| n.parse().ok());
            match key.as_str() {
                "name" | "nodeid" => {}
                "quorum_votes" if value == "1" => {}
                "quorum_votes" => page.unsaid(
                    at,
                    format!("{key}: {}", quoted(value)),
                    "every node of Hawser's has one vote",
                ),
                _ if ring.is_some_and(|n| rings.contains(&n)) => {}
                _ => page.unsaid(
                    at,
                    format!("{key}: {} of node {name}", quoted(value)),
                    "Hawser's file has no key for it",
                ),
            }
        }
        for n in &rings {
            let Some((text, at)) = node.get(&format!("ring{n}_addr")) else {
                continue;
            };
            match text.parse::<IpAddr>() {
                Ok(ip) => {
                    node_.addresses.insert(format!("ring{n}"), Said::new(ip, at));
                }
                Err(_) => page.unsaid(
                    at,
                    format!("ring{n}_addr: {}", quoted(text)),
                    "a name: Hawser's file has addresses, so that no name server is asked when it is gone",
                ),
            }
        }
    }
    Ok(())
}
