//! A cluster's status as text.

use std::fmt::Write;

use hawser_model::output::cluster::{ClusterStatus, PoolStatus, ServiceState, Takeover};

/// The status, the most important thing first.
pub fn text(now: &ClusterStatus) -> String {
    let mut out = String::new();
    // Writing into a String cannot fail.
    let _ = writeln!(out, "cluster {}: {}", now.cluster, headline(now));
    section(&mut out, "degraded", &now.degraded);
    section(&mut out, "notes", &now.notes);
    let nodes: Vec<String> = now
        .nodes
        .iter()
        .map(|node| format!("{} {}", node.name, node.state.word()))
        .collect();
    section(&mut out, "nodes", &nodes);
    if let Some(device) = &now.quorum_device {
        let votes = if device.votes {
            "votes"
        } else {
            "does NOT vote"
        };
        section(
            &mut out,
            "quorum device",
            &[format!("{} {votes}", device.host)],
        );
    }
    let known = now.state != ServiceState::Unknown;
    let pools: Vec<String> = now.pools.iter().map(|it| pool(it, known)).collect();
    section(&mut out, "pools", &pools);
    for (node, lines) in &now.if_lost {
        section(&mut out, &format!("if {node} died now"), lines);
    }
    if let Some(last) = &now.last_takeover {
        section(&mut out, "last takeover", &[takeover(last)]);
    }
    out
}

/// How it stands, with the first reason when that is not well.
fn headline(now: &ClusterStatus) -> String {
    let quorum = if now.quorate { "" } else { "without quorum, " };
    let reason = now.reason.as_deref().unwrap_or_default();
    match now.state {
        ServiceState::Redundant => match now.degraded.first() {
            None => "redundant: any one node or heartbeat link can be lost".to_owned(),
            Some(first) => format!("redundant, but degraded: {first}"),
        },
        ServiceState::NotRedundant => format!("{quorum}served, NOT REDUNDANT: {reason}"),
        ServiceState::Starting => format!("{quorum}starting: {reason}"),
        ServiceState::Down => format!("{quorum}DOWN: {reason}"),
        ServiceState::Unknown => format!("NOT KNOWN: {reason}"),
    }
}

fn section(out: &mut String, title: &str, lines: &[String]) {
    if !lines.is_empty() {
        let _ = writeln!(out, "{title}");
    }
    for line in lines {
        // What a node says in several lines begins none of them.
        let _ = writeln!(out, "    {}", line.replace('\n', "\n        "));
    }
}

fn pool(pool: &PoolStatus, known: bool) -> String {
    if !known {
        return format!("{}, nobody knows where", pool.name);
    }
    let place = match &pool.active_on {
        Some(node) => format!("on {node}"),
        None => "nowhere".to_owned(),
    };
    let down = |up: bool| if up { "" } else { " (down)" };
    let addresses = pool.addresses.iter();
    let addresses: Vec<String> = addresses
        .map(|it| format!("{}{}", it.address, down(it.up)))
        .collect();
    let exports = pool.exports.iter();
    let exports: Vec<String> = exports
        .map(|it| format!("{}{}", it.resource, down(it.up)))
        .collect();
    let mut text = format!("{} {place}", pool.name);
    for (what, list) in [("at", addresses), ("offered by", exports)] {
        if !list.is_empty() {
            text += &format!(", {what} {}", list.join(" "));
        }
    }
    text
}

fn takeover(last: &Takeover) -> String {
    let Takeover {
        pool,
        from,
        to,
        at,
        fenced,
    } = last;
    let how = match fenced {
        true => format!("{from} was fenced"),
        false => format!("{from} gave it up in good order"),
    };
    let when = hawser_model::date::utc_seconds(*at);
    format!("{pool} from {from} to {to}, {when}: {how}")
}
