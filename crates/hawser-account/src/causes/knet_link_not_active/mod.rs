//! kronosnet holds a link to a peer for down, though the check got through: another port or address than the one that
//! was measured, a filter on Corosync's ports, another key.
//!
//! Evidence: `stats.knet.nodeN.linkL.connected` of enabled links. Where a measured path of the host is dead, or a port
//! is down, that is said instead; a peer with no link at all may be stopped, and is named only where Corosync runs on
//! every host of the check. Certain; a warning, an error for a peer with no link left. Cases: `knet-link-not-active`,
//! `knet-peer-not-active`, `knet-peer-stopped`.

use std::collections::BTreeMap;

use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::names::HostName;
use serde::Serialize;

use super::knet;
use crate::cause::{Cause, CheckCause, Found, Words, counted, host};
use crate::losses::Losses;
use crate::view::View;

#[derive(Serialize)]
pub(crate) struct KnetLinkNotActive {
    links: u64,
    links_down: u64,
}

impl CheckCause for KnetLinkNotActive {
    fn find(view: &View<'_>, _: &mut Losses) -> Vec<Found<Self>> {
        let everywhere = view.case.absent.is_empty()
            && view
                .case
                .hosts
                .values()
                .all(|facts| facts.corosync.is_some());
        let mut found = Vec::new();
        for (host, facts) in &view.case.hosts {
            let Some(corosync) = &facts.corosync else {
                continue;
            };
            if told_otherwise(view, host) {
                continue;
            }
            for (node, links) in links(&corosync.stats) {
                let down: Vec<&str> = links
                    .iter()
                    .filter(|(_, up)| !up)
                    .map(|(l, _)| *l)
                    .collect();
                let all = down.len() == links.len();
                if down.is_empty() || (all && !everywhere) {
                    continue;
                }
                found.push(Found {
                    severity: match all {
                        true => Severity::Error,
                        false => Severity::Warning,
                    },
                    confidence: Confidence::Certain,
                    place: Place::of(
                        &format!("node {node}, link {}", down.join(", ")),
                        Some(host),
                    ),
                    evidence: Self {
                        links: links.len() as u64,
                        links_down: down.len() as u64,
                    },
                });
            }
        }
        found
    }
}

/// Whether a measured path of this host is dead, or a port of it down.
fn told_otherwise(view: &View<'_>, host: &HostName) -> bool {
    let paths = view.paths();
    let mut own = paths
        .iter()
        .filter(|path| path.from == *host || path.to == *host);
    let ports = view.ports();
    let mut ports = ports.iter().filter(|((_, on), _)| on == host);
    own.any(|path| view.received(path) == 0) || ports.any(|(_, (_, i))| !i.up || !i.carrier)
}

/// Of each peer, its enabled links and whether each is up.
fn links(stats: &BTreeMap<String, String>) -> BTreeMap<&str, Vec<(&str, bool)>> {
    let mut peers: BTreeMap<&str, Vec<(&str, bool)>> = BTreeMap::new();
    for link in knet::links(stats).filter(|link| link.get("enabled") != Some("0")) {
        let up = link.get("connected") != Some("0");
        peers.entry(link.node).or_default().push((link.number, up));
    }
    peers
}

impl Cause for KnetLinkNotActive {
    const CODE: &'static str = "knet-link-not-active";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        let host = host(at);
        let what = at.object.as_deref().unwrap_or("a link");
        let left = match self.links - self.links_down {
            0 => "None is left to this node: the cluster is split, or one more fault away from it."
                .to_owned(),
            left => format!(
                "{} to this node is left of {}.",
                counted(left, "link"),
                self.links
            ),
        };
        Words {
            text: format!(
                "Corosync on {host} holds a link for down ({what}), though every measured path of {host} works. {left}"
            ),
            fix: format!(
                "`corosync-cfgtool -n` on {host} shows the addresses of the link: compare them with `ip address` on both nodes \
                 (`ringN_addr` of corosync.conf). A packet filter must let UDP 5405 and the ports above it through, one for each link; \
                 both nodes need the same /etc/corosync/authkey."
            ),
        }
    }
}
