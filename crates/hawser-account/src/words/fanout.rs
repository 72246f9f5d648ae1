//! Words on how many receivers a host serves.

use hawser_model::units::{Packets, PacketsPerSec};

use super::{Told, Words, Writer, counted};

/// Words of each code of a fan-out.
pub(super) const WORDS: &[(&str, Writer)] = &[
    ("fanout-in-hypervisor", in_hypervisor),
    ("fanout-not-measured", not_measured),
    ("fanout-one-context", one_context),
];

fn one_context(f: &Told<'_>) -> Words {
    let idle = f.number("others_idle_percent").map_or(String::new(), |p| {
        format!(", while the others had nothing to do for {p} % of theirs")
    });
    let fix = match f.name("spread") {
        "threaded NAPI" => {
            "Give each receiver's interface a thread of its own: in its namespace or guest, `ethtool \
                            -K IFACE gro on` and `echo 1 > /sys/class/net/IFACE/threaded`."
        }
        _ => {
            "Give each receiver's interface one processor of its own, in turn: in its namespace or guest, `echo \
              1 > /sys/class/net/IFACE/queues/rx-0/rps_cpus` for the first, 2 for the second, 4 for the third, and \
              so on. One mask with several processors in it does nothing here: RPS chooses among them by the \
              flow, and this is one flow."
        }
    };
    Words {
        text: format!(
            "At {} of {} bytes {} serves {} when one processor copies for all of them, and {} when the work \
             is spread ({}). With {} processor {} was busy for {} % of its time ({} % in soft interrupts){idle}; {} \
             packets were dropped at its backlog.",
            PacketsPerSec(f.count("rate_packets_per_s")),
            f.count("payload_bytes"),
            f.host(),
            counted(f.count("receivers_one_context"), "receiver"),
            f.count("receivers_spread"),
            f.name("spread"),
            f.count("too_many_receivers"),
            f.count("processor"),
            f.count("busy_percent"),
            f.count("softirq_percent"),
            Packets(f.count("backlog_dropped_packets")),
        ),
        fix: format!("{fix} Not applied by Hawser: those interfaces are the receivers' own."),
    }
}

fn in_hypervisor(f: &Told<'_>) -> Words {
    Words {
        text: format!(
            "{} is a guest of VMware ({}, {}): multicast for it and the guests beside it is copied by the \
             hypervisor, by default in one context for all of them. What is measured here is this guest's kernel alone.",
            f.host(),
            f.interface(),
            f.name("driver"),
        ),
        fix: format!(
            "Where more receivers on one ESXi host lose packets: in the virtual machine's .vmx file, for the adapter \
             with the address {}, `ethernetX.emuRxMode = \"1\"` (splitRxMode), then switch the guest off and on. It \
             costs the host more processor time. Not applied by Hawser: it is the hypervisor's setting.",
            f.name("mac"),
        ),
    }
}

fn not_measured(f: &Told<'_>) -> Words {
    let what = f.object().map_or(String::new(), |o| format!(" ({o})"));
    Words {
        text: format!(
            "The receivers that {} serves{what} could not be measured: {}.",
            f.host(),
            f.name("error"),
        ),
        fix: "It needs root, network namespaces, veth and the program `ip`; threaded NAPI also `ethtool` and \
              Linux 5.12 or newer."
            .to_owned(),
    }
}
