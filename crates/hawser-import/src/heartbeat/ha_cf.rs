//! `ha.cf`.

use std::net::IpAddr;

use hawser_model::toml_file::nearest;

use super::directives::{DIRECTIVES, Fate, fate};
use super::time::millis;
use crate::page::Page;
use crate::picture::{Compression, Link, Mention, Picture, Said};
use crate::place::{Malformed, quoted};
use crate::source::Source;
use crate::translate::ipmi;
use crate::{Secret, SourceLine};

/// Heartbeat's own default of each time, in milliseconds (its `config.c`).
const KEEPALIVE: u64 = 1_000;
const DEADTIME: u64 = 30_000;

/// Reads the file.
pub(crate) fn read(
    source: &Source,
    picture: &mut Picture,
    page: &mut Page,
) -> Result<(), Malformed> {
    let mut threshold = None;
    for (at, line) in source.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [directive, rest @ ..] = &words[..] else {
            continue;
        };
        let Some(fate) = fate(directive) else {
            let names: Vec<&str> = DIRECTIVES.iter().map(|(name, _)| *name).collect();
            let allowed = match nearest(directive, &names) {
                Some(near) => format!("a directive of ha.cf(5): did you mean \"{near}\"?"),
                None => "a directive of ha.cf(5)".into(),
            };
            return Err(Malformed::new(&at, quoted(directive), allowed));
        };
        let name = directive.to_ascii_lowercase();
        match fate {
            Fate::NotNeeded(why) => page.not_needed(&at, first_words(&name, rest), why),
            Fate::NotPossible(why) => not_possible(&name, rest, why, &at, page),
            Fate::Translated(_) => {
                translated(&name, rest, &at, &mut threshold, picture, page)?;
            }
        }
    }
    if let (Some(compression), Some(threshold)) = (&mut picture.compression, threshold) {
        compression.value.threshold = Some(threshold);
    }
    times(source, picture, page);
    order(picture, page);
    Ok(())
}

/// What a line says, without parameters that may be secrets.
fn first_words(name: &str, rest: &[&str]) -> String {
    let shown: Vec<&str> = rest.iter().take(3).copied().collect();
    match rest.len() > shown.len() {
        true => format!("{name} {} …", shown.join(" ")),
        false => format!("{name} {}", shown.join(" ")).trim_end().to_owned(),
    }
}

fn not_possible(name: &str, rest: &[&str], why: &str, at: &SourceLine, page: &mut Page) {
    match (name, rest) {
        // What ipfail was for, the watch over the heads' ports does.
        ("respawn", [_, program, ..]) if program.ends_with("ipfail") => page.not_needed(
            at,
            format!("respawn {}", quoted(program)),
            "each head's own SAN ports are watched instead",
        ),
        ("respawn", [_, program, ..]) => page.foreign(at, quoted(program), why),
        ("stonith", _) => page.unsaid(at, "stonith", why),
        _ => page.unsaid(at, first_words(name, rest), why),
    }
}

fn translated(
    name: &str,
    rest: &[&str],
    at: &SourceLine,
    threshold: &mut Option<u32>,
    picture: &mut Picture,
    page: &mut Page,
) -> Result<(), Malformed> {
    let wrong = |found: &str, allowed: &str| Err(Malformed::new(at, found, allowed));
    let what = || first_words(name, rest);
    match (name, rest) {
        ("node", [_, ..]) => {
            picture.listed = true;
            for node in rest {
                picture.add_node(node, at);
            }
            page.understood(at, what(), "[[node]]");
        }
        ("keepalive" | "deadtime" | "warntime" | "initdead", [time]) => {
            let Some(ms) = millis(time) else {
                let found = format!("{name} {}", quoted(time));
                return wrong(&found, "a time: 2, 1.7, 2000ms, up to a week");
            };
            let (to, key) = match name {
                "keepalive" => (&mut picture.timing.keepalive, "keepalive"),
                "deadtime" => (&mut picture.timing.dead, "dead"),
                "warntime" => (&mut picture.timing.warning, "warning"),
                _ => (&mut picture.timing.initial, "initial"),
            };
            if let Some(before) = to {
                let why = format!("it stands at {} as well; the last one counts", before.at);
                page.mistake(at, what(), why);
            }
            *to = Some(Said::new(ms, at));
            page.understood(at, what(), format!("[timing] {key}"));
        }
        ("auto_failback" | "nice_failback", [word]) => {
            let on = match word.to_ascii_lowercase().as_str() {
                "on" | "true" | "yes" | "y" | "1" => true,
                "off" | "false" | "no" | "n" | "0" => false,
                // Those that know no auto_failback take their resources back.
                "legacy" => true,
                _ => return wrong(&format!("{name} {}", quoted(word)), "on, off or legacy"),
            };
            // nice_failback on is auto_failback off.
            let automatic = on == (name == "auto_failback");
            picture.automatic_failback = Some(Said::new(automatic, at));
            let word = if automatic { "automatic" } else { "manual" };
            page.understood(at, what(), format!("[cluster] failback = \"{word}\""));
        }
        ("compression", [word]) => {
            let model = match *word {
                "zlib" => "zlib",
                "bz2" => "bzip2",
                _ => return wrong(&format!("compression {}", quoted(word)), "zlib or bz2"),
            };
            let compression = Compression {
                model: model.into(),
                level: None,
                threshold: None,
            };
            picture.compression = Some(Said::new(compression, at));
            page.understood(at, what(), format!("compression.model = \"{model}\""));
        }
        ("compression_threshold", [kib]) => match kib.parse::<u32>() {
            Ok(kib) if (1..=4096).contains(&kib) => {
                *threshold = Some(kib * 1024);
                page.understood(
                    at,
                    what(),
                    format!("compression.threshold = {}", kib * 1024),
                );
            }
            _ => {
                let found = format!("compression_threshold {}", quoted(kib));
                return wrong(&found, "a number of KiB from 1 to 4096");
            }
        },
        ("cluster", [name]) => {
            picture.name = picture.name.take().or_else(|| Some((*name).to_owned()));
            page.understood(at, what(), "[cluster] name");
        }
        ("bcast" | "udp", [_, ..]) => {
            // Commas separate as well as blanks.
            let each = rest.iter().flat_map(|word| word.split(','));
            for interface in each.filter(|interface| !interface.is_empty()) {
                link(interface, at, picture);
            }
            page.understood(at, what(), "a link for each interface");
        }
        ("mcast" | "mcast6", [interface, group, more @ ..]) => {
            let group_: Option<IpAddr> = group.parse().ok();
            if !group_.is_some_and(|group| group.is_multicast()) {
                let found = format!("{name} {} {}", quoted(interface), quoted(group));
                return wrong(
                    &found,
                    "INTERFACE GROUP PORT TTL LOOP, with a multicast group",
                );
            }
            let bounds = [("port", 1..=65_535), ("TTL", 0..=255), ("loop", 0..=1)];
            for (word, (part, bounds)) in more.iter().zip(bounds) {
                if !word.parse::<u32>().is_ok_and(|n| bounds.contains(&n)) {
                    let found = format!("the {part} {} of {name}", quoted(word));
                    let allowed = format!("a number from {} to {}", bounds.start(), bounds.end());
                    return wrong(&found, &allowed);
                }
            }
            link(interface, at, picture);
            page.changed(
                at,
                what(),
                "a link over that interface; Corosync sends to each node, so group, port and TTL are not needed",
            );
        }
        ("ucast" | "ucast6", [interface, peer, ..]) => {
            let bare = peer.split('%').next().unwrap_or(peer);
            if bare.parse::<IpAddr>().is_err() {
                let found = format!("{name} {} {}", quoted(interface), quoted(peer));
                return wrong(&found, "INTERFACE ADDRESS");
            }
            link(interface, at, picture);
            page.understood(at, what(), "a link over that interface");
        }
        (
            "stonith_host",
            [
                who,
                "external/ipmi",
                host,
                address,
                user,
                password,
                more @ ..,
            ],
        ) => {
            let plugin = ipmi::Plugin {
                at,
                address,
                user,
                interface: more.first().copied(),
            };
            let what = format!(
                "stonith_host {} external/ipmi {}",
                quoted(who),
                quoted(host)
            );
            picture.mentions.push(Mention {
                name: Said::new((*host).to_owned(), at),
                what,
                controller: Some((plugin.bmc(), Secret((*password).to_owned()))),
            });
        }
        ("stonith_host", [_, "external/ipmi", ..]) => {
            let found = format!(
                "stonith_host external/ipmi with {} words behind it",
                rest.len() - 2
            );
            return wrong(&found, form(name));
        }
        ("stonith_host", [_, plugin, ..]) => page.unsaid(
            at,
            format!("stonith_host … {}", quoted(plugin)),
            "only external/ipmi has its counterpart here: write [node.bmc] or [[fencing.device]]",
        ),
        _ => {
            let found = format!("{name} with {} words behind it", rest.len());
            return wrong(&found, form(name));
        }
    }
    Ok(())
}

/// How a directive is written.
fn form(name: &str) -> &'static str {
    match name {
        "node" => "node NAME …",
        "keepalive" | "deadtime" | "warntime" | "initdead" => {
            "one time: 2, 1.7, 2000ms, up to a week"
        }
        "auto_failback" | "nice_failback" => "on, off or legacy",
        "compression" => "zlib or bz2",
        "compression_threshold" => "a number of KiB from 1 to 4096",
        "cluster" => "one name",
        "bcast" | "udp" => "one or more interfaces",
        "mcast" | "mcast6" => "INTERFACE GROUP PORT TTL LOOP",
        "ucast" | "ucast6" => "INTERFACE ADDRESS",
        _ => "stonith_host FROM external/ipmi HOST ADDRESS USER PASSWORD [INTERFACE]",
    }
}

/// Heartbeat beats, warns and declares dead, in this order.
fn order(picture: &Picture, page: &mut Page) {
    let timing = &picture.timing;
    let pairs = [
        (
            ("keepalive", &timing.keepalive),
            ("warntime", &timing.warning),
        ),
        (("keepalive", &timing.keepalive), ("deadtime", &timing.dead)),
        (("warntime", &timing.warning), ("deadtime", &timing.dead)),
    ];
    for ((shorter, short), (longer, long)) in pairs {
        if let (Some(short), Some(long)) = (short, long) {
            if short.value >= long.value {
                let what = format!(
                    "{shorter} {} ms and {longer} {} ms",
                    short.value, long.value
                );
                let why = format!(
                    "{shorter} must be less than {longer}: keepalive < warntime < deadtime"
                );
                page.mistake((&short.at).max(&long.at), what, why);
            }
        }
    }
}

fn link(interface: &str, at: &SourceLine, picture: &mut Picture) {
    let known = picture
        .links
        .iter()
        .any(|link| link.interface.as_deref() == Some(interface));
    if known {
        return;
    }
    let name = picture.link_name(interface);
    picture.links.push(Link {
        at: at.clone(),
        name,
        heartbeat: true,
        san: false,
        network: None,
        priority: None,
        port: None,
        interface: Some(interface.to_owned()),
        bound: None,
    });
}

/// Times that the file leaves to Heartbeat's defaults, which Hawser's profile of that name needs.
fn times(source: &Source, picture: &mut Picture, page: &mut Page) {
    let at = source.at(1);
    let timing = &mut picture.timing;
    for (time, default, name) in [
        (&mut timing.keepalive, KEEPALIVE, "keepalive"),
        (&mut timing.dead, DEADTIME, "deadtime"),
    ] {
        if time.is_none() {
            *time = Some(Said::new(default, &at));
            let why = format!("Heartbeat's own default, {default} ms, is written down");
            page.changed(&at, format!("no {name}"), why);
        }
    }
    if timing.warning.is_none() {
        let dead = timing.dead.as_ref().map_or(DEADTIME, |dead| dead.value);
        timing.warning = Some(Said::new(dead / 2, &at));
        page.changed(
            &at,
            "no warntime",
            "[timing] warning is half of dead: Hawser needs one",
        );
    }
    if let Some(dead) = &timing.dead {
        let at = dead.at.clone();
        page.changed(
            &at,
            format!("deadtime {} ms", dead.value),
            "Corosync declares a node lost after token and consensus: together they are so long",
        );
    }
}
