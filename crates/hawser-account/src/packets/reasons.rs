//! Which layer a kernel drop reason stands for, and on which side of the tap it happens.
//!
//! Names are those of `enum skb_drop_reason` (`include/net/dropreason-core.h`), with the
//! symbol of the freeing function for `NOT_SPECIFIED`. Order of the stack on transmit:
//! netfilter OUTPUT and POSTROUTING, neighbour, tc egress and qdisc, *tap*
//! (`dev_queue_xmit_nit`), driver. On receive: driver ring, XDP, backlog, *tap*
//! (`__netif_receive_skb_core`), tc ingress, netfilter, IP, reassembly, UDP, socket.

use hawser_model::account::Layer;
use hawser_model::drops::{DropScope, is_vague};

use super::books::Segment;

/// Where a drop of the flow's packets happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stage {
    pub(crate) layer: Layer,
    pub(crate) segment: Segment,
    /// The kernel named no reason; only the function says where it was.
    pub(crate) vague: bool,
}

const fn stage(layer: Layer, segment: Segment) -> Option<Stage> {
    Some(Stage {
        layer,
        segment,
        vague: false,
    })
}

const fn vague(layer: Layer, segment: Segment) -> Option<Stage> {
    Some(Stage {
        layer,
        segment,
        vague: true,
    })
}

/// The stage of a drop on the sending host. A reason of the receive path is not ours there:
/// it is a looped-back copy (multicast), and the packet itself went on.
pub(crate) fn on_sender(reason: &str, location: &str) -> Option<Stage> {
    use Segment::{Middle, SenderHost};
    if is_vague(reason) {
        return on_sender_at(location);
    }
    match reason {
        "NETFILTER_DROP" | "BPF_CGROUP_EGRESS" | "SECURITY_HOOK" => {
            stage(Layer::SenderFilter, SenderHost)
        }
        "IP_OUTNOROUTES" | "PKT_TOO_BIG" | "XFRM_POLICY" | "IPV6DISABLED" | "TUNNEL_TXINFO" => {
            stage(Layer::SenderIp, SenderHost)
        }
        "TC_EGRESS" | "TC_COOKIE_ERROR" | "TC_CHAIN_NOTFOUND" | "TC_RECLASSIFY_LOOP" => {
            stage(Layer::Qdisc, SenderHost)
        }
        "DEV_READY" | "FULL_RING" | "DEV_HDR" | "HDR_TRUNC" | "TAP_FILTER" | "TAP_TXFILTER"
        | "SKB_GSO_SEG" | "RECURSION_LIMIT" | "NOMEM" => stage(Layer::SenderNic, Middle),
        // What waited for a neighbour that was given up (`neigh_invalidate`, net/core/neighbour.c).
        "QUEUE_PURGE" if location.contains("neigh") => stage(Layer::Neighbour, SenderHost),
        "QUEUE_PURGE" => stage(Layer::SenderSocket, SenderHost),
        r if r.starts_with("NEIGH_") => stage(Layer::Neighbour, SenderHost),
        r if r.starts_with("QDISC_")
            || r.starts_with("FQ_")
            || r.starts_with("CAKE_")
            || r.starts_with("DUALPI2_") =>
        {
            stage(Layer::Qdisc, SenderHost)
        }
        _ => None,
    }
}

/// The sender's stage by the freeing function alone.
fn on_sender_at(location: &str) -> Option<Stage> {
    use Segment::{Middle, SenderHost};
    let has = |part: &str| location.contains(part);
    match () {
        () if has("neigh") || has("arp_") => vague(Layer::Neighbour, SenderHost),
        () if has("nf_hook") || has("ipt_do_table") || has("nft_") => {
            vague(Layer::SenderFilter, SenderHost)
        }
        () if has("qdisc") || has("sch_") || has("_enqueue") => vague(Layer::Qdisc, SenderHost),
        () if location.starts_with("__dev_queue_xmit")
            || location.starts_with("dev_queue_xmit")
            || location.starts_with("__dev_xmit_skb") =>
        {
            vague(Layer::Qdisc, SenderHost)
        }
        () if has("_xmit") || has("start_xmit") || has("br_") || has("dev_forward_skb") => {
            vague(Layer::SenderNic, Middle)
        }
        () if has("_output") || has("fragment") => vague(Layer::SenderIp, SenderHost),
        () => None,
    }
}

/// Drops whose event may name no namespace although they happen on the receiving host: the
/// packet is between a device it left and a socket it has not reached. Everything else
/// without a namespace may be any host's of this kernel and is not believed.
fn believed_without_namespace(reason: &str) -> bool {
    matches!(
        reason,
        "UDP_CSUM"
            | "SKB_CSUM"
            | "IP_CSUM"
            | "FRAG_REASM_TIMEOUT"
            | "FRAG_TOO_FAR"
            | "SOCKET_RCVBUFF"
            | "PROTO_MEM"
            | "NO_SOCKET"
            | "SOCKET_FILTER"
    )
}

/// The stage of a drop on the receiving host.
pub(crate) fn on_receiver(reason: &str, location: &str, scope: DropScope) -> Option<Stage> {
    use Segment::{Middle, ReceiverHost};
    if scope == DropScope::Unknown && !believed_without_namespace(reason) {
        return None;
    }
    if is_vague(reason) {
        return on_receiver_at(location);
    }
    match reason {
        "CPU_BACKLOG" => stage(Layer::Backlog, Middle),
        "XDP" => stage(Layer::XdpTc, Middle),
        "FULL_RING"
        | "DEV_READY"
        | "DEV_HDR"
        | "HDR_TRUNC"
        | "NOMEM"
        | "PFMEMALLOC"
        | "TAP_FILTER"
        | "MAC_INVALID_SOURCE"
        | "MAC_IEEE_MAC_CONTROL"
        | "LOCAL_MAC" => stage(Layer::ReceiverNic, Middle),
        "UDP_CSUM" | "SKB_CSUM" | "IP_CSUM" | "TCP_CSUM" | "ICMP_CSUM" => {
            stage(Layer::Checksum, ReceiverHost)
        }
        "FRAG_REASM_TIMEOUT" | "FRAG_TOO_FAR" => stage(Layer::Reassembly, ReceiverHost),
        // A copy of a fragment that waits already is dropped, and its datagram goes on waiting (`ip_frag_queue`,
        // net/ipv4/ip_fragment.c): no datagram is lost by it.
        "DUP_FRAG" => None,
        "SOCKET_RCVBUFF" | "PROTO_MEM" | "SOCKET_BACKLOG" | "SOCKET_CLOSE" | "QUEUE_PURGE" => {
            stage(Layer::SocketBuffer, ReceiverHost)
        }
        "NO_SOCKET" => stage(Layer::NoListener, ReceiverHost),
        "NETFILTER_DROP" | "SECURITY_HOOK" | "BPF_CGROUP_EGRESS" | "SOCKET_FILTER"
        | "XFRM_POLICY" => stage(Layer::ReceiverFilter, ReceiverHost),
        r if r.starts_with("TC_") && r != "TC_EGRESS" => stage(Layer::XdpTc, ReceiverHost),
        "QDISC_INGRESS" => stage(Layer::XdpTc, ReceiverHost),
        // A host that only receives the flow neither queues nor resolves it.
        r if r.starts_with("QDISC_") || r.starts_with("NEIGH_") || r.starts_with("FQ_") => None,
        "TC_EGRESS" | "NO_TX_TARGET" | "BRIDGE_INGRESS_STP_STATE" => None,
        _ => stage(Layer::ReceiverIp, ReceiverHost),
    }
}

/// The receiver's stage by the freeing function alone.
fn on_receiver_at(location: &str) -> Option<Stage> {
    use Segment::{Middle, ReceiverHost};
    let has = |part: &str| location.contains(part);
    match () {
        () if has("xdp") => vague(Layer::XdpTc, Middle),
        () if has("enqueue_to_backlog") => vague(Layer::Backlog, Middle),
        () if has("_xmit") || has("dev_forward_skb") => vague(Layer::ReceiverNic, Middle),
        () if has("frag") || has("reasm") => vague(Layer::Reassembly, ReceiverHost),
        () if has("ingress") || has("tcf_") || has("cls_") => vague(Layer::XdpTc, ReceiverHost),
        () if has("nf_") || has("nft_") || has("ipt_") => {
            vague(Layer::ReceiverFilter, ReceiverHost)
        }
        // A bridge frees its own copy of frames that went on elsewhere.
        () if has("br_") => None,
        () if location.starts_with("ip") => vague(Layer::ReceiverIp, ReceiverHost),
        () if has("udp") && has("queue_rcv") => vague(Layer::SocketBuffer, ReceiverHost),
        () => None,
    }
}

/// The layer of a packet that the kernel refused at the system call (`send(2)`).
pub(crate) fn refused(errno: &str, neighbour_failed: bool) -> Layer {
    match errno {
        "EPERM" | "EACCES" => Layer::SenderFilter,
        "EHOSTUNREACH" if neighbour_failed => Layer::Neighbour,
        "EHOSTDOWN" => Layer::Neighbour,
        "EMSGSIZE" | "ENETUNREACH" | "EHOSTUNREACH" | "EADDRNOTAVAIL" => Layer::SenderIp,
        "ENOBUFS" => Layer::Qdisc,
        "ENETDOWN" | "ENODEV" | "ENXIO" => Layer::SenderNic,
        _ => Layer::SenderSocket,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_drop_table_of_the_kernel_is_known() {
        let sender = |r, at| on_sender(r, at).map(|s| (s.layer, s.segment));
        let receiver =
            |r, at| on_receiver(r, at, DropScope::ThisHost).map(|s| (s.layer, s.segment));
        use Segment::*;
        assert_eq!(
            sender("QDISC_OVERLIMIT", "__dev_queue_xmit"),
            Some((Layer::Qdisc, SenderHost))
        );
        assert_eq!(
            sender("NEIGH_QUEUEFULL", "__neigh_event_send"),
            Some((Layer::Neighbour, SenderHost))
        );
        assert_eq!(sender("SOCKET_RCVBUFF", ""), None);
        assert_eq!(
            receiver("NOT_SPECIFIED", "veth_xmit"),
            Some((Layer::ReceiverNic, Middle))
        );
        assert_eq!(
            receiver("NOT_SPECIFIED", "__dev_forward_skb2"),
            Some((Layer::ReceiverNic, Middle))
        );
        assert_eq!(
            receiver("NOT_SPECIFIED", "ip_rcv_finish_core"),
            Some((Layer::ReceiverIp, ReceiverHost))
        );
        assert_eq!(receiver("NOT_SPECIFIED", "br_handle_frame_finish"), None);
        assert_eq!(
            receiver("IP_RPFILTER", ""),
            Some((Layer::ReceiverIp, ReceiverHost))
        );
    }

    #[test]
    fn an_event_without_a_namespace_is_believed_only_where_it_makes_sense() {
        assert!(on_receiver("UDP_CSUM", "", DropScope::Unknown).is_some());
        assert!(on_receiver("NETFILTER_DROP", "", DropScope::Unknown).is_none());
        assert!(on_receiver("NOT_SPECIFIED", "ip_rcv_core", DropScope::Unknown).is_none());
    }
}
