//! Cause → candidate knobs: the one table.
//!
//! Within a cause, those of a narrow scope come before those of a wide one: a setting of one
//! interface before one of the whole machine. So what operators try first, and what helped
//! nobody in the reports this project started from (IGMP version, ring size, interrupt mode), is
//! tried first here too, and measured, and rolled back.

use hawser_model::finding::Finding;
use hawser_model::knob::{Knob, Side};
use hawser_model::names::InterfaceName;

use super::{Candidate, Target};
use crate::causes::knet;

/// A socket that asks for nothing gets this much from an unchanged kernel
/// (`SK_RMEM_MAX`, 256 packets; include/net/sock.h): less is no improvement on any host.
const KERNEL_DEFAULT: u64 = 212_992;

/// Packets that wait for a processor at most, on an unchanged kernel (`netdev_max_backlog`; net/core/dev.c): ten
/// times a queue that somebody has made tiny is a tiny queue.
const KERNEL_BACKLOG: u64 = 1_000;

/// The candidates for a finding, `interface` being the one that carried the lost packets, on a host
/// with so many CPUs.
pub(super) fn candidates(
    finding: &Finding,
    interface: Option<&InterfaceName>,
    cpus: u32,
) -> Vec<Candidate> {
    let number = |name: &str| finding.evidence.get(name).and_then(|v| v.as_u64());
    let on = |knob: fn(InterfaceName) -> Knob, target: Target| {
        interface.map(|i| Candidate {
            knob: knob(i.clone()),
            target,
        })
    };
    let of_interface = |name: &str, target: Target| {
        let dotless = interface?.as_str().replace('.', "/");
        sysctl(&format!("net.ipv4.conf.{dotless}.{name}"), target)
    };
    let largest_ring = || {
        on(
            |interface| Knob::Ring {
                interface,
                side: Side::Rx,
            },
            Target::Largest,
        )
    };
    let threaded = || {
        on(
            |interface| Knob::ThreadedNapi { interface },
            Target::Value("1".to_owned()),
        )
    };
    let no_coalescing = || {
        on(
            |interface| Knob::Coalescing {
                interface,
                side: Side::Rx,
            },
            Target::Value("adaptive off usecs 0".to_owned()),
        )
    };
    // Which CPUs do what the interrupt has begun; more than 32 need no more to be told apart.
    let all_cpus = || {
        let mask = format!("{:x}", u32::MAX >> (32 - cpus.clamp(1, 32)));
        on(
            |interface| Knob::PacketSteering {
                interface,
                side: Side::Rx,
                queue: 0,
            },
            Target::Value(mask),
        )
    };
    let offload_off = |feature: &str| {
        let feature = feature.to_owned();
        interface.map(|interface| Candidate {
            knob: Knob::Offload {
                interface: interface.clone(),
                feature,
            },
            target: Target::Value("off".to_owned()),
        })
    };
    let on_bridge = |setting: &str, value: &str| {
        let setting = setting.to_owned();
        interface.map(|bridge| Candidate {
            knob: Knob::Bridge {
                bridge: bridge.clone(),
                setting,
            },
            target: Target::Value(value.to_owned()),
        })
    };
    let budget = || sysctl("net.core.netdev_budget", Target::Times(4));
    let igmp_2 = || {
        sysctl(
            "net.ipv4.conf.all.force_igmp_version",
            Target::Value("2".to_owned()),
        )
    };
    let backlog = || {
        sysctl(
            "net.core.netdev_max_backlog",
            Target::TimesOrOf(10, KERNEL_BACKLOG),
        )
    };

    // With room for twice what one check saw: the next burst need not be the same.
    let buffer = number("needed_buffer_bytes")
        .unwrap_or(0)
        .saturating_mul(2)
        .max(KERNEL_DEFAULT);
    let limit = number("asked_bytes").unwrap_or(buffer).max(KERNEL_DEFAULT);
    let rmem_max = || {
        let least = knet::rmem_max(limit);
        sysctl("net.core.rmem_max", Target::AtLeast(least))
    };
    let rmem_default = || sysctl("net.core.rmem_default", Target::AtLeast(buffer));

    let candidates = match finding.code.as_str() {
        "receive-buffer-too-small" => vec![
            largest_ring(),
            no_coalescing(),
            threaded(),
            all_cpus(),
            igmp_2(),
            budget(),
            backlog(),
            rmem_max(),
            rmem_default(),
        ],
        "buffer-not-granted" => vec![largest_ring(), igmp_2(), rmem_default(), rmem_max()],
        "backlog-overflow" => vec![
            largest_ring(),
            igmp_2(),
            all_cpus(),
            budget(),
            rmem_default(),
            backlog(),
        ],
        // No longer queue: it holds what a short trial sends, and delays what comes after.
        "softirq-core-saturated" => vec![
            largest_ring(),
            no_coalescing(),
            igmp_2(),
            rmem_default(),
            threaded(),
            all_cpus(),
        ],
        "nic-ring-overflow" => vec![largest_ring(), threaded(), no_coalescing(), backlog()],
        "reassembly-failure" => vec![
            largest_ring(),
            sysctl("net.ipv4.ipfrag_time", Target::Value("60".to_owned())),
            sysctl("net.ipv4.ipfrag_high_thresh", Target::AtLeast(4 << 20)),
            rmem_default(),
        ],
        "reverse-path-filter" => vec![
            of_interface("arp_ignore", Target::Value("1".to_owned())),
            of_interface("accept_local", Target::Value("1".to_owned())),
            // 2 is loose: any route back will do. The larger of this and `all` is in force.
            of_interface("rp_filter", Target::Value("2".to_owned())),
        ],
        "sender-queue-drops" => vec![
            on(
                |interface| Knob::TxQueueLength { interface },
                Target::Times(10),
            ),
            sysctl("net.core.wmem_default", Target::Times(4)),
        ],
        "mtu-mismatch" => {
            let due = number("file_mtu_bytes").or_else(|| number("largest_mtu_bytes"));
            vec![due.and_then(|mtu| {
                on(
                    |interface| Knob::Mtu { interface },
                    Target::Value(mtu.to_string()),
                )
            })]
        }
        "group-not-forwarded" => vec![igmp_2()],
        "igmp-no-querier" => vec![
            igmp_2(),
            // Not filtering at all comes last: it burdens every port.
            on_bridge("multicast_querier", "1"),
            on_bridge("multicast_snooping", "0"),
        ],
        "conntrack-table-full" => vec![
            igmp_2(),
            rmem_default(),
            backlog(),
            sysctl("net.netfilter.nf_conntrack_max", Target::Times(4)),
        ],
        "pause-storm" => vec![
            on(
                |interface| Knob::TxQueueLength { interface },
                Target::Times(10),
            ),
            on(
                |interface| Knob::Pause { interface },
                Target::Value("autoneg off rx off tx off".to_owned()),
            ),
        ],
        "receive-merging-stall" => vec![
            largest_ring(),
            no_coalescing(),
            all_cpus(),
            offload_off("rx-checksum"),
            sysctl("net.ipv4.tcp_rmem", Target::Times(4)),
            offload_off("rx-lro"),
            offload_off("rx-gro-hw"),
            offload_off("rx-gro"),
        ],
        "udp-memory-pressure" => vec![
            largest_ring(),
            igmp_2(),
            backlog(),
            rmem_default(),
            sysctl("net.ipv4.udp_mem", Target::Times(8)),
        ],
        _ => Vec::new(),
    };
    candidates.into_iter().flatten().collect()
}

fn sysctl(name: &str, target: Target) -> Option<Candidate> {
    Some(Candidate {
        knob: Knob::Sysctl {
            name: name.to_owned(),
        },
        target,
    })
}
