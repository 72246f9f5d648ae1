//! The sender has no link-layer address for its peer: ARP or neighbour discovery stays
//! unanswered (wrong subnet, a filter, the peer's `arp_ignore`), and the packets wait in a
//! short queue until they are dropped. No SNMP counter shows it.
//!
//! Evidence: `NEIGH_QUEUEFULL`, `NEIGH_FAILED` events (`net/core/neighbour.c`), EHOSTUNREACH
//! with them, or `unresolved_discards`. A link that is dead both ways is `link-down`. An
//! error. Case: `neighbour-unresolved`.

use hawser_model::account::Layer;
use hawser_model::finding::{Finding, Severity};

use super::Cause;
use super::support::{Draft, by_host, confidence, main_reason, place_on};
use crate::losses::{Loss, Losses};
use crate::view::View;

pub(super) const CAUSE: Cause = Cause {
    code: "neighbour-unresolved",
    find,
};

/// `net.ipv4.conf.all.rp_filter` of the peer: a strict one refuses ARP requests, too, from
/// where it would not answer (`arp_process` asks the routes).
fn peer_rp_filter(view: &View<'_>, group: &[Loss]) -> Option<u64> {
    let peer = &group.first()?.path.to;
    view.sysctl(peer, "net.ipv4.conf.all.rp_filter")
        .filter(|n| *n > 0)
}

fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Finding> {
    let claimed = losses.claim(CAUSE.code, |l| l.layer == Some(Layer::Neighbour));
    by_host(claimed)
        .into_iter()
        .map(|(host, group)| {
            // What of the same directions is unexplained waits in the same queue.
            losses.claim(CAUSE.code, |l| {
                l.layer.is_none()
                    && l.path.from == host
                    && group.iter().any(|g| g.path == l.path)
                    && view.received(&l.path) == 0
            });
            Draft::new(
                CAUSE.code,
                Severity::Error,
                confidence(&group),
                place_on(view, &host, &group),
            )
            .name("reason", &main_reason(&group))
            .maybe("peer_rp_filter", peer_rp_filter(view, &group))
            .losses(view, &group)
            .done()
        })
        .collect()
}
