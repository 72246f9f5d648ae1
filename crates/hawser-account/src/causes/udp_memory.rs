//! The machine's memory for all UDP sockets together is used up (`net.ipv4.udp_mem`): a
//! socket drops although its own buffer has room. Raising one socket's buffer makes it worse.
//!
//! Evidence: `Udp: MemErrors`, `PROTO_MEM` (`udp_rmem_schedule`, `net/ipv4/udp.c`), for our
//! socket or, where another program's drops, when that counter moved further than
//! `RcvbufErrors`. An error. Cases: `udp-memory-pressure`, `udp-memory-pressure-foreign`.

use std::collections::BTreeSet;

use hawser_model::account::Layer;
use hawser_model::finding::{Confidence, Finding, Place, Severity};
use hawser_model::names::HostName;

use super::Cause;
use super::foreign_socket::dropping;
use super::support::{Draft, by_host, confidence, place_on};
use crate::losses::{Loss, Losses};
use crate::packets::facts::Side;
use crate::view::View;

pub(super) const CAUSE: Cause = Cause {
    code: "udp-memory-pressure",
    find,
};

/// What both families' counters of the name gained on a host, over all windows.
fn counted(view: &View<'_>, host: &HostName, name: &str) -> u64 {
    let mut sum = 0u64;
    for phase in &view.phases {
        for side in [Side::Sender, Side::Receiver] {
            if phase.facts.host(side) == host {
                for family in ["udp", "udp6"] {
                    let moved = phase.facts.counter(side, &format!("{family}/{name}"));
                    sum = sum.saturating_add(moved);
                }
            }
        }
    }
    sum
}

/// True when the host's UDP drops are rather for want of memory than of buffer.
pub(super) fn memory_not_buffer(view: &View<'_>, host: &HostName) -> bool {
    counted(view, host, "MemErrors") > counted(view, host, "RcvbufErrors")
}

fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Finding> {
    let mut own = by_host(losses.claim(CAUSE.code, |l| {
        l.layer == Some(Layer::SocketBuffer) && l.reason == "PROTO_MEM"
    }));
    let mut hosts: BTreeSet<HostName> = own.keys().cloned().collect();
    let foreign = dropping(view);
    hosts.extend(
        foreign
            .keys()
            .map(|(host, _)| host.clone())
            .filter(|host| memory_not_buffer(view, host)),
    );
    hosts
        .into_iter()
        .map(|host| {
            let group: Vec<Loss> = own.remove(&host).unwrap_or_default();
            let place = match group.is_empty() {
                true => Place {
                    host: Some(host.clone()),
                    ..Place::default()
                },
                false => place_on(view, &host, &group),
            };
            let sure = match group.is_empty() {
                true => Confidence::Likely,
                false => confidence(&group),
            };
            let others: u64 = foreign
                .iter()
                .filter(|((h, _), _)| *h == host)
                .map(|(_, (_, drops))| *drops)
                .fold(0, u64::saturating_add);
            let limits = view
                .host(&host)
                .and_then(|h| h.sysctls.get("net.ipv4.udp_mem"));
            let pages = limits.and_then(|l| l.split_whitespace().nth(2)?.parse().ok());
            Draft::new(CAUSE.code, Severity::Error, sure, place)
                .losses(view, &group)
                .number("other_sockets_dropped_packets", others)
                .number("memory_errors_counted", counted(view, &host, "MemErrors"))
                .maybe("udp_mem_max_pages", pages)
                .done()
        })
        .collect()
}
