//! kronosnet cuts messages smaller than its links allow: it searched the path MTU and its large packets did not get
//! through, or one link has a smaller MTU than another, and the smallest counts for all
//! (`libknet/threads_pmtud.c`: the lowest MTU of all links becomes that of the data).
//!
//! Evidence: `stats.knet.nodeN.linkL.mtu` of links that are connected, against the MTU of the host's ports less
//! [`HEADERS`]; 1446 of 1500 is right. Where the ports of a link differ, or the check's own search found less than the
//! interfaces have, that is said instead. Likely, a warning, for a search that fell short; certain, a note, for
//! links that differ. Cases: `knet-mtu-too-small`, `knet-mtu-uneven`, `knet-mtu-right`.

use std::collections::BTreeMap;

use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::names::HostName;
use hawser_model::units::Mtu;
use serde::Serialize;

use super::knet;
use crate::cause::{Cause, CheckCause, Found, Words, host};
use crate::losses::Losses;
use crate::view::View;

#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum KnetMtuTooSmall {
    /// Its search found less than the interfaces have.
    Search {
        mtu_bytes: Mtu,
        interface_mtu_bytes: Mtu,
    },
    /// One link holds the others back.
    Uneven {
        mtu_bytes: Mtu,
        largest_mtu_bytes: Mtu,
    },
}

/// More than headers and encryption take at most: 48 bytes of IPv6 and UDP, 26 of kronosnet, 96 for salt, padding and
/// the longest hash.
const HEADERS: u32 = 256;

/// What a node's link to itself says.
const LOOPBACK: u32 = 65_535;

impl CheckCause for KnetMtuTooSmall {
    fn find(view: &View<'_>, _: &mut Losses) -> Vec<Found<Self>> {
        let hosts = view.case.hosts.iter();
        let found = hosts.filter_map(|(host, facts)| {
            let links = mtus(&facts.corosync.as_ref()?.stats);
            let (smallest, object) = links.iter().min()?;
            let (largest, _) = links.iter().max()?;
            let interface = smallest_port(view, host)?;
            let short = smallest.saturating_add(HEADERS) < interface.0;
            let (severity, confidence, evidence) = if short && !told_otherwise(view, host) {
                let evidence = Self::Search {
                    mtu_bytes: Mtu(*smallest),
                    interface_mtu_bytes: interface,
                };
                (Severity::Warning, Confidence::Likely, evidence)
            } else if !short && smallest.saturating_add(HEADERS) < *largest {
                let evidence = Self::Uneven {
                    mtu_bytes: Mtu(*smallest),
                    largest_mtu_bytes: Mtu(*largest),
                };
                (Severity::Note, Confidence::Certain, evidence)
            } else {
                return None;
            };
            Some(Found {
                severity,
                confidence,
                place: Place::of(object, Some(host)),
                evidence,
            })
        });
        found.collect()
    }
}

/// The MTU of each connected link, and its name.
fn mtus(stats: &BTreeMap<String, String>) -> Vec<(u32, String)> {
    let mtus = knet::links(stats).filter_map(|link| {
        let mtu: u32 = link.get("mtu")?.parse().ok()?;
        let real = link.get("connected") == Some("1") && (1..LOOPBACK).contains(&mtu);
        real.then(|| (mtu, format!("node {}, link {}", link.node, link.number)))
    });
    mtus.collect()
}

fn smallest_port(view: &View<'_>, host: &HostName) -> Option<Mtu> {
    let ports = view.ports();
    let own = ports.iter().filter(|((_, on), _)| on == host);
    own.filter_map(|(_, (_, interface))| interface.mtu).min()
}

/// Whether the check's own search fell short on a path of this host, or the ports of a link of its differ.
fn told_otherwise(view: &View<'_>, host: &HostName) -> bool {
    let mut measured = view.case.measurements.iter();
    let short = measured.any(|m| {
        (m.from == *host || m.to == *host)
            && m.path_mtu
                .as_ref()
                .is_some_and(|path| path.passed.is_none_or(|passed| passed < path.interface_mtu))
    });
    let mut of_link = BTreeMap::new();
    let differ = view.ports().into_iter().any(|((link, _), (_, interface))| {
        *of_link.entry(link).or_insert(interface.mtu) != interface.mtu
    });
    short || differ
}

impl Cause for KnetMtuTooSmall {
    const CODE: &'static str = "knet-mtu-too-small";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        let host = host(at);
        let link = at.object.as_deref().unwrap_or("one link");
        match self {
            Self::Search {
                mtu_bytes,
                interface_mtu_bytes,
            } => Words {
                text: format!(
                    "Corosync on {host} sends no more than {mtu_bytes} bytes of data in a packet ({link}), though every interface \
                     takes {interface_mtu_bytes}: kronosnet's own search did not get larger packets through."
                ),
                fix: format!(
                    "`journalctl -u corosync` on {host} has \"PMTUD\" lines; right after a link came up the search is still under \
                     way. Else something on the way treats Corosync's large packets otherwise than those of this check: a \
                     filter on UDP 5405, a tunnel. `knet_mtu` in corosync.conf sets a size by hand."
                ),
            },
            Self::Uneven {
                mtu_bytes,
                largest_mtu_bytes,
            } => Words {
                text: format!(
                    "Corosync on {host} could send {largest_mtu_bytes} bytes of data in a packet over one link, but cuts for \
                     {mtu_bytes} on all, since one takes no more ({link})."
                ),
                fix: "Nothing, unless the larger MTU was meant for Corosync: then give all its links the same. Heartbeats are small."
                    .to_owned(),
            },
        }
    }
}
