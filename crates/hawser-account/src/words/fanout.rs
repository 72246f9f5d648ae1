//! Words on how many receivers a host serves.

use hawser_model::units::{Packets, PacketsPerSec};

use super::{Told, Words, Writer, counted};

/// Words of each code of a fan-out.
pub(super) const WORDS: &[(&str, Writer)] = &[
    ("fanout-in-hypervisor", in_hypervisor),
    ("fanout-not-measured", not_measured),
    ("fanout-not-spread", not_spread),
    ("fanout-one-context", one_context),
];

fn not_spread(f: &Told<'_>) -> Words {
    let (how, fix) = match f.0.place.interface {
        Some(_) => (
            format!("when each is set as those behind {} are now", f.interface()),
            "`hawser tune --multicast-fanout` tries that on them, and keeps it when it is proven."
                .to_owned(),
        ),
        None => (
            "as the kernel makes their interfaces".to_owned(),
            format!(
                "{} Nothing on this host receives behind a bridge now, so there was nothing to turn.",
                advice(f)
            ),
        ),
    };
    Words {
        text: format!("{} {}", serves(f, "receivers_as_set", &how), exhausted(f)),
        fix,
    }
}

fn one_context(f: &Told<'_>) -> Words {
    Words {
        text: format!(
            "{} {}",
            serves(
                f,
                "receivers_one_context",
                "when one processor copies for all of them"
            ),
            exhausted(f)
        ),
        fix: format!(
            "{} On containers behind a bridge of this host `hawser tune --multicast-fanout` tries it; in guests with \
             a kernel of their own it is not applied by Hawser.",
            advice(f)
        ),
    }
}

/// How many, set so, and how many when the work is spread.
fn serves(f: &Told<'_>, key: &str, how: &str) -> String {
    format!(
        "At {} of {} bytes {} serves {} {how}, and {} when the work is spread ({}){}.",
        PacketsPerSec(f.count("rate_packets_per_s")),
        f.count("payload_bytes"),
        f.host(),
        counted(f.count(key), "receiver"),
        f.count("receivers_spread"),
        f.name("spread"),
        match f.number("count_only") {
            Some(_) => "; they count in the kernel and read nothing",
            None => "",
        },
    )
}

/// What was exhausted with one more.
fn exhausted(f: &Told<'_>) -> String {
    let idle = f.number("others_idle_percent").map_or(String::new(), |p| {
        format!(", while the others had nothing to do for {p} % of theirs")
    });
    format!(
        "With {} processor {} was busy for {} % of its time ({} % in soft interrupts){idle}; {} packets were \
         dropped at its backlog.",
        f.count("too_many_receivers"),
        f.count("processor"),
        f.count("busy_percent"),
        f.count("softirq_percent"),
        Packets(f.count("backlog_dropped_packets")),
    )
}

/// What to set.
fn advice(f: &Told<'_>) -> &'static str {
    match f.name("spread") {
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
