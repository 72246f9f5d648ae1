//! The sender has no link-layer address for its peer: ARP or neighbour discovery stays
//! unanswered (wrong subnet, a filter, the peer's `arp_ignore`), and the packets wait in a
//! short queue until they are dropped. No SNMP counter shows it.
//!
//! Evidence: `NEIGH_QUEUEFULL`, `NEIGH_FAILED` events (`net/core/neighbour.c`), EHOSTUNREACH
//! with them, or `unresolved_discards`. A link that is dead both ways is `link-down`, and one that loses packets, and passes
//! others, loses these questions too: `loss-between-hosts`. An error. Case: `neighbour-unresolved`; not
//! `neighbour-lossy`.

use hawser_model::account::Layer;
use hawser_model::finding::Place;
use hawser_model::units::Packets;
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words, host, in_brackets, interface, on_link, peer};
use crate::causes::claims::{Lost, by_host, lost_on, main_reason};
use crate::causes::reverse_path_filter::{answers_through, in_force};
use crate::losses::{Loss, Losses};
use crate::packets::facts::Side;
use crate::view::View;

#[derive(Serialize)]
pub(crate) struct NeighbourUnresolved {
    /// The kernel's word for it.
    reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    peer_rp_filter: Option<u64>,
    #[serde(flatten)]
    lost: Lost,
}

/// The `rp_filter` in force on the peer's interface: a strict one refuses ARP requests, too, from
/// where it would not answer (`arp_process` asks the routes). If its kernel was asked, that is
/// `reverse-path-filter`, or it is not the filter.
fn peer_rp_filter(view: &View<'_>, group: &[Loss]) -> Option<u64> {
    let first = group.first()?;
    let interface = view.phases[first.phase].facts.interface(Side::Receiver);
    let filter = in_force(view, &first.path.to, interface.map(|(name, _)| name));
    filter.filter(|n| *n > 0 && answers_through(view, first).is_none())
}

impl CheckCause for NeighbourUnresolved {
    fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Found<Self>> {
        let claimed = losses.claim(Self::CODE, |l| {
            let lossy = || view.received(&l.path) > 0 && view.loses_questions(&l.path);
            l.layer == Some(Layer::Neighbour) && !lossy()
        });
        by_host(claimed)
            .into_iter()
            .map(|(host, group)| {
                // What of the same directions is unexplained waits in the same queue.
                losses.claim(Self::CODE, |l| {
                    l.layer.is_none()
                        && l.path.from == host
                        && group.iter().any(|g| g.path == l.path)
                        && view.received(&l.path) == 0
                });
                let evidence = Self {
                    reason: main_reason(&group),
                    peer_rp_filter: peer_rp_filter(view, &group),
                    lost: Lost::of(view, &group),
                };
                lost_on(view, &host, &group, evidence)
            })
            .collect()
    }

    fn cost(&self) -> Packets {
        self.lost.lost_packets
    }
}

impl Cause for NeighbourUnresolved {
    const CODE: &'static str = "neighbour-unresolved";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        let strict = match self.peer_rp_filter {
            Some(1) => format!(
                " {} has strict reverse-path filtering, which also refuses ARP.",
                peer(at)
            ),
            _ => String::new(),
        };
        Words {
            text: format!(
                "{} cannot find the link-layer address of {}{}: {} died waiting for it{}. No \
                 counter of `ip -s link` or `netstat -s` shows this.{strict}",
                host(at),
                peer(at),
                on_link(at),
                self.lost,
                in_brackets(&self.reason),
            ),
            fix: format!(
                "`ip neigh show dev {0}` and `arping -I {0} ADDRESS` on {1}: look for a wrong address \
                 or prefix length, a filter for ARP, `arp_ignore` on the peer, or a port in the wrong \
                 VLAN.",
                interface(at),
                host(at),
            ),
        }
    }
}
