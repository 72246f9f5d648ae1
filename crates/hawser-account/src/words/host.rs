//! Words on what a host itself drops, outside the socket.

use super::{Told, Words, packets};

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
