//! The `quorum` section and its device.

use super::section::Section;
use crate::page::Page;
use crate::picture::{Picture, QuorumDevice, Said};
use crate::place::quoted;

const NO_KEY: &str = "Hawser's file has no key for it";

pub(super) fn read(whole: &Section, picture: &mut Picture, page: &mut Page) {
    for quorum in whole.all("quorum") {
        for device in quorum.all("device") {
            self::device(device, picture, page);
        }
        values(quorum, picture, page);
        silent(quorum, picture, page);
    }
}

fn values(quorum: &Section, picture: &mut Picture, page: &mut Page) {
    let nodes = picture.nodes.len();
    for (key, value, at) in &quorum.values {
        let what = format!("{key}: {}", quoted(value));
        match key.as_str() {
            "wait_for_all" => {
                let on = value == "1";
                page.understood(
                    at,
                    format!("wait_for_all: {value}"),
                    "[quorum] wait_for_all",
                );
                picture.wait_for_all = (!on).then(|| Said::new(false, at));
            }
            "provider" if value == "corosync_votequorum" => {}
            "two_node" => {
                page.understood(at, format!("two_node: {value}"), "by the number of nodes")
            }
            "expected_votes" if nodes == 0 || *value == nodes.to_string() => {
                page.not_needed(at, what, "votequorum counts the list of nodes");
            }
            "expected_votes" => page.changed(
                at,
                what,
                format!("votequorum counts the list of nodes, which has {nodes}"),
            ),
            _ => page.unsaid(at, what, NO_KEY),
        }
    }
}

/// What follows from what the section does not say.
fn silent(quorum: &Section, picture: &mut Picture, page: &mut Page) {
    let (Some(at), nodes) = (&quorum.at, picture.nodes.len()) else {
        return;
    };
    let two_node = quorum
        .get("two_node")
        .is_some_and(|(value, _)| value == "1");
    if nodes == 2 && picture.device.is_none() && !two_node {
        page.changed(
            at,
            "no two_node",
            "either head goes on alone once the other is fenced: without it both stop when one is lost",
        );
        return;
    }
    if nodes > 1 && !two_node && quorum.get("wait_for_all").is_none() {
        page.understood(
            at,
            "no wait_for_all",
            "[quorum] wait_for_all = false, Corosync's default without two_node",
        );
        picture.wait_for_all = Some(Said::new(false, at));
    }
}

fn device(device: &Section, picture: &mut Picture, page: &mut Page) {
    let net = device.all("net").next();
    let Some((host, at)) = net.and_then(|net| net.get("host")) else {
        if let Some((.., at)) = device.values.first() {
            page.unsaid(
                at,
                "a quorum device without a host",
                "[quorum] device is a corosync-qnetd",
            );
        }
        return;
    };
    let word = |key: &str, default: &str| {
        let (value, _) = net.and_then(|net| net.get(key))?;
        (value != default).then(|| value.to_owned())
    };
    let known = QuorumDevice {
        host: host.to_owned(),
        algorithm: word("algorithm", "ffsplit"),
        tls: word("tls", "on"),
    };
    page.understood(at, format!("quorum device {host}"), "[quorum.device]");
    picture.device = Some(Said::new(known, at));
    let usual = [
        ("model", "net"),
        ("votes", "1"),
        ("host", host),
        ("port", "5403"),
        ("tie_breaker", "lowest"),
    ];
    let of_net = net.iter().flat_map(|net| &net.values);
    for (key, value, at) in device.values.iter().chain(of_net) {
        let plain = usual.contains(&(key.as_str(), value.as_str()));
        if !plain && !matches!(key.as_str(), "algorithm" | "tls") {
            page.unsaid(
                at,
                format!("{key}: {} of the quorum device", quoted(value)),
                NO_KEY,
            );
        }
    }
    for heuristics in device
        .sections
        .iter()
        .filter(|section| section.name != "net")
    {
        if let Some(at) = &heuristics.at {
            page.unsaid(
                at,
                format!("{} of the quorum device", heuristics.name),
                NO_KEY,
            );
        }
    }
}
