//! Words on what a host itself drops, outside the socket.

use super::{Told, Words, packets, reason};

pub(super) fn firewall_drop(f: &Told<'_>) -> Words {
    let (outgoing, rule) = (f.is("outgoing"), f.object());
    let chain = match outgoing {
        true => format!("on their way out to {}", f.peer()),
        false => format!("coming in from {}", f.peer()),
    };
    let by = match (rule, f.number("rule_packets")) {
        (Some(rule), Some(n)) => {
            format!(" The rule {rule} counted {} in the same time.", packets(n))
        }
        _ => " No counter of a rule tells which one it is.".to_owned(),
    };
    Words {
        text: format!(
            "The packet filter of {} drops {}{}, {chain}{}.{by}",
            f.host(),
            f.lost(),
            f.on_link(),
            reason(f),
        ),
        fix: format!(
            "Accept the cluster's traffic{}: `nft -a list ruleset` (or `iptables-save -c`) shows \
             the rule by its handle; with firewalld `firewall-cmd --add-service=high-availability`. \
             Hawser's probes use an ephemeral UDP port, which the rule may drop although it \
             accepts Corosync's.",
            f.link().map_or(String::new(), |l| format!(" on {l}")),
        ),
    }
}

pub(super) fn wrong_interface(f: &Told<'_>) -> Words {
    let link = f.link().unwrap_or("the link");
    let other = f.object().unwrap_or("another interface");
    let way = match f.is("outgoing") {
        true => format!("to {} leave", f.peer()),
        false => format!("from {} arrive", f.peer()),
    };
    let cost = match f.count("lost_packets") {
        0 => format!(
            " They arrive, so nobody notices, but {} carries none of them and is no second way.",
            f.interface()
        ),
        n => format!(" It cost {}, which found no way out there.", packets(n)),
    };
    Words {
        text: format!(
            "Packets of {link} {way} {} through {other}, not through {}.{cost}",
            f.host(),
            f.interface(),
        ),
        fix: format!(
            "`ip route get ADDRESS from OWN-ADDRESS` and `ip rule` on {}: a policy rule, a more \
             specific route, or two interfaces in one subnet. Each link needs a subnet of its \
             own; programs may bind to the interface (SO_BINDTODEVICE).",
            f.host(),
        ),
    }
}

pub(super) fn neighbour_unresolved(f: &Told<'_>) -> Words {
    let strict = match f.number("peer_rp_filter") {
        Some(1) => format!(
            " {} has strict reverse-path filtering, which also refuses ARP.",
            f.peer()
        ),
        _ => String::new(),
    };
    Words {
        text: format!(
            "{} cannot find the link-layer address of {}{}: {} died waiting for it{}. No \
             counter of `ip -s link` or `netstat -s` shows this.{strict}",
            f.host(),
            f.peer(),
            f.on_link(),
            f.lost(),
            reason(f),
        ),
        fix: format!(
            "`ip neigh show dev {0}` and `arping -I {0} ADDRESS` on {1}: look for a wrong address \
             or prefix length, a filter for ARP, `arp_ignore` on the peer, or a port in the wrong \
             VLAN.",
            f.interface(),
            f.host(),
        ),
    }
}

pub(super) fn sender_queue_drops(f: &Told<'_>) -> Words {
    let queue = f.object().unwrap_or("queueing discipline");
    Words {
        text: format!(
            "The queue {queue} of {} lost {} to {} before they left the host{}; the program \
             was not told.",
            f.at(),
            f.lost(),
            f.peer(),
            reason(f),
        ),
        fix: format!(
            "`tc -s qdisc show dev {0}` on {1}: a shaper (tbf, htb) must allow the link's rate \
             and hold a burst of {2}; without one, lengthen the queue (`ip link set {0} \
             txqueuelen 10000`) or use fq_codel.",
            f.interface(),
            f.host(),
            packets(f.count("burst_packets")),
        ),
    }
}

pub(super) fn nic_ring_overflow(f: &Told<'_>) -> Words {
    let fix = match f.is("veth") {
        true => "A veth's ring is 256 slots and cannot be set. Turn GRO off on it (`ethtool -K \
                 IF gro off` leaves NAPI mode unless an XDP program holds it), give its NAPI a CPU of its own, or smooth the \
                 bursts in front of it."
            .to_owned(),
        false => format!(
            "`ethtool -g {0}` shows the ring's size and limit: `ethtool -G {0} rx LIMIT` (this \
             interface; the link may flap). Then spread interrupts over CPUs (`ethtool -L`, \
             irqbalance) and look at `ethtool -c` for coalescing.",
            f.interface(),
        ),
    };
    Words {
        text: format!(
            "The receive ring of {} was full: {} from {} were lost before the kernel saw \
             them{}.",
            f.at(),
            f.lost(),
            f.peer(),
            reason(f),
        ),
        fix,
    }
}

pub(super) fn backlog_overflow(f: &Told<'_>) -> Words {
    let limit = f.number("netdev_max_backlog_packets");
    let cpus = f.number("cpus").unwrap_or(1);
    Words {
        text: format!(
            "{} lost {} {} {}{} because a CPU's input backlog was full{}: they arrived faster \
             than that CPU worked them off. `ip -s link` shows the same loss again as dropped.{}",
            f.host(),
            f.lost(),
            if f.is("outgoing") { "to" } else { "from" },
            f.peer(),
            f.on_link(),
            limit.map_or(String::new(), |l| format!(" ({})", packets(l))),
            f.number("others_idle_percent").map_or(String::new(), |idle| format!(
                " Processor {} spent {} % of the flow's time on it, but the others were idle for {idle} % \
                 only, so it cannot be told whether one processor is the limit or all are: check again when \
                 the host has less to do.",
                f.count("processor"),
                f.count("softirq_percent"),
            )),
        ),
        fix: format!(
            "For bursts: `sysctl -w net.core.netdev_max_backlog={}` (the whole machine, all its \
             namespaces). For a steady rate: spread the interface over CPUs (`echo {:x} > \
             /sys/class/net/{}/queues/rx-0/rps_cpus`), {}.",
            limit.unwrap_or(1_000).max(1_000).saturating_mul(4),
            (1u128 << cpus.min(64)) - 1,
            f.interface(),
            match f.number("others_idle_percent") {
                Some(_) => "which helps as far as the others have time",
                None => "since one CPU is the limit",
            },
        ),
    }
}

pub(super) fn softirq_core_saturated(f: &Told<'_>) -> Words {
    let (host, interface) = (f.host(), f.interface());
    Words {
        text: format!(
            "{host} lost {} from {}{} because processor {} had no time for them: it spent {} % of the flow's \
             time handling packets, while the others were idle for {} % of it. A longer queue only delays \
             the loss.",
            f.lost(),
            f.peer(),
            f.on_link(),
            f.count("processor"),
            f.count("softirq_percent"),
            f.count("others_idle_percent"),
        ),
        fix: format!(
            "On {host}: spread flows over processors (`ethtool -L {interface} combined N` and an interrupt for \
             each, `irqbalance`; or `/sys/class/net/{interface}/queues/rx-*/rps_cpus`). A single flow stays on \
             one processor whatever is set: make each packet cheaper (`nft list ruleset`: sets instead of \
             long lists of rules; `notrack`), or let several flows carry it."
        ),
    }
}

pub(super) fn conntrack_table_full(f: &Told<'_>) -> Words {
    let most = f
        .number("nf_conntrack_max")
        .map_or(String::new(), |n| format!(" of {n} entries"));
    Words {
        text: format!(
            "The table of tracked connections{most} on {} was full: it refused {} new entries, and {} \
             went with them in the packet filter.",
            f.at(),
            f.count("refused_entries"),
            f.lost(),
        ),
        fix: format!(
            "On {}: `conntrack -C` against `sysctl net.netfilter.nf_conntrack_max`; raise it (320 bytes \
             an entry), or let the interconnect pass untracked (`nft … notrack` in a raw chain), \
             which it should be anyway.",
            f.host(),
        ),
    }
}

pub(super) fn pause_storm(f: &Told<'_>) -> Words {
    Words {
        text: format!(
            "{} was told to pause {} times while it sent to {}, and {} were lost in its own queue: \
             something behind the switch takes less than is sent to it.",
            f.at(),
            f.count("pause_frames_received"),
            f.peer(),
            f.lost(),
        ),
        fix: format!(
            "Find the slow receiver (`ethtool -S` on all hosts of the link: who sends pause frames). \
             `ethtool -A {} rx off` lets this host send on, and the switch drop for the slow one \
             alone.",
            f.interface(),
        ),
    }
}
