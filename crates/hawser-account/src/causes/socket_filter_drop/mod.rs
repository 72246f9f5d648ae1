//! A check between UDP and the socket's buffer refuses packets: a cgroup's eBPF program (systemd's `IPAddressDeny=`) or
//! a filter on the socket. The socket counts them with its drops, as it counts those of a full buffer
//! (`udp_queue_rcv_one_skb`, `net/ipv4/udp.c`), so they pass for a buffer that is too small; no packet filter's rule shows
//! them, and no buffer cures it.
//!
//! Evidence: the kernel's reason `SOCKET_FILTER` for the flow's own packets: certain. Or `Udp: InErrors` moved, and of its
//! parts neither `RcvbufErrors` nor `MemErrors` nor `InCsumErrors` did: likely, and an IPsec policy or a security module is not
//! ruled out. An error. Cases: `socket-filter-drop`, `socket-filter-drop-counted`,
//! `counters-only-two-filters`.

use hawser_model::account::Layer;
use hawser_model::finding::Place;
use hawser_model::units::Packets;
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words, host, in_brackets, on_link, peer};
use crate::causes::claims::{Lost, by_host, lost_on, main_reason, named};
use crate::losses::{Loss, Losses};
use crate::packets::{FILTER, is_unnamed_refusal};
use crate::view::View;

#[derive(Serialize)]
pub(crate) struct SocketFilterDrop {
    /// The kernel's word for it, or the counter that tells of it.
    reason: String,
    #[serde(flatten)]
    lost: Lost,
}

fn is_socket_filter(loss: &Loss) -> bool {
    loss.layer == Some(Layer::ReceiverFilter)
        && (loss.reason == FILTER || is_unnamed_refusal(&loss.reason))
}

impl CheckCause for SocketFilterDrop {
    fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Found<Self>> {
        let groups = by_host(losses.claim(Self::CODE, is_socket_filter)).into_iter();
        let found = groups.map(|(host, group)| {
            let evidence = Self {
                reason: main_reason(&group),
                lost: Lost::of(view, &group),
            };
            lost_on(view, &host, &group, evidence).at_most(named(&group, FILTER))
        });
        found.collect()
    }

    fn cost(&self) -> Packets {
        self.lost.lost_packets
    }
}

impl Cause for SocketFilterDrop {
    const CODE: &'static str = "socket-filter-drop";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        let (host, from) = (host(at), format!("from {}{}", peer(at), on_link(at)));
        let (lost, reason) = (&self.lost, in_brackets(&self.reason));
        let programs = format!(
            "`bpftool cgroup tree` on {host} lists the programs of its cgroups, and `systemctl show -p IPAddressDeny UNIT` \
             what systemd attached. Allow the cluster's addresses there (`IPAddressAllow=`)."
        );
        match self.reason == FILTER {
            true => Words {
                text: format!(
                    "A filter at the socket on {host} drops {lost} {from}{reason}: a program of a cgroup (eBPF, as systemd's \
                     IPAddressDeny= sets it), or a filter that the program set on its socket. The receive buffer was not \
                     full, and no rule of the packet filter shows it."
                ),
                fix: format!(
                    "Hawser sets no filter of its own, so look for a cgroup's. {programs}"
                ),
            },
            false => Words {
                text: format!(
                    "Something at the socket on {host} refuses {lost} {from}{reason}. The receive buffer was not full: \
                     InErrors counts them and RcvbufErrors does not. That is what a cgroup's program (eBPF), an IPsec policy or a \
                     security module does."
                ),
                fix: format!(
                    "{programs} `ip xfrm policy` and `grep XfrmIn /proc/net/xfrm_stat` show whether it is an IPsec policy. \
                     `perf trace -e skb:kfree_skb` has the kernel's reason."
                ),
            },
        }
    }
}
