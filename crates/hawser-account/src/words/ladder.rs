//! Words on what takes a path's rate away.

use super::{Told, Words, Writer};

/// Words of each code of a ladder's own causes.
pub(super) const WORDS: &[(&str, Writer)] = &[
    ("cipher-below-link", cipher_below_link),
    ("cipher-chained", cipher_chained),
    ("cipher-without-instructions", cipher_without_instructions),
    ("congestion-control", congestion_control),
    ("cpu-limit", cpu_limit),
    ("kernel-cipher-slow", kernel_cipher_slow),
    ("path-mtu-below-interface", path_mtu_below_interface),
    ("policer", policer),
    ("rate-limit", rate_limit),
    ("rung-not-measured", rung_not_measured),
    ("single-stream", single_stream),
    ("small-frames", small_frames),
    ("storage-below-link", storage_below_link),
    ("unit-below-link", unit_below_link),
    ("window-too-small", window_too_small),
];

/// A decimal of the evidence: `1 234 MB/s`, `12.3 MB/s`.
fn mb(f: &Told<'_>, key: &str) -> String {
    let value = decimal(f, key);
    match value >= 100.0 {
        true => format!("{value:.0} MB/s"),
        false => format!("{value:.1} MB/s"),
    }
}

fn decimal(f: &Told<'_>, key: &str) -> f64 {
    let value = f.0.evidence.get(key).and_then(|v| v.as_f64());
    value.unwrap_or(0.0)
}

fn rung_not_measured(f: &Told<'_>) -> Words {
    Words {
        text: format!(
            "The rung `{}` could not be measured: {}.",
            f.object().unwrap_or("of the path"),
            f.name("error"),
        ),
        fix: "Remove what the message names and repeat the ladder. Between the hosts any TCP and \
              UDP port must be open on this link."
            .to_owned(),
    }
}

fn cpu_limit(f: &Told<'_>) -> Words {
    let quota = match f.number("quota_millis") {
        Some(n) => format!(
            " A control group allows {}.{:02} processors.",
            n / 1_000,
            n % 1_000 / 10
        ),
        None => String::new(),
    };
    let throttled = match f.number("throttled_ms") {
        Some(ms) => format!(" Its quota held threads back for {ms} ms."),
        None => String::new(),
    };
    let stolen = f.count("stolen_percent");
    let allowed = f.count("allowed_processors") >= f.count("online_processors");
    // Nothing of the host's own limits it.
    if stolen > 0 && allowed && quota.is_empty() && throttled.is_empty() {
        return Words {
            text: format!(
                "The hypervisor took {stolen} % of the time of {}'s processors while the whole path \
                 ran; for {} % of it they had nothing to do.",
                f.host(),
                f.count("idle_percent"),
            ),
            fix: "Look on the hypervisor for this guest's limit and share of processors and for what its neighbours \
                  use; `vmstat 1` shows it here as `st`. Measure again when there is less of it."
                .to_owned(),
        };
    }
    let steal = match stolen {
        0 => String::new(),
        n => format!(" {n} % of the processors' time was taken by the hypervisor."),
    };
    Words {
        text: format!(
            "On {} a stage of the path could have run and was not let for {} % of the time, while \
             {} % of the processors' time was idle; {} of {} processors are allowed.{quota}{throttled}{steal}",
            f.host(),
            f.count("held_back_percent"),
            f.count("idle_percent"),
            f.count("allowed_processors"),
            f.count("online_processors"),
        ),
        fix: "Look for a CPU quota (`systemctl show -p CPUQuotaPerSecUSec`, `cpu.max` or \
              `cpu.cfs_quota_us` of the control group), a `cpuset` or `taskset` around the \
              programs that carry the data; in a virtual machine, for its limit and its share."
            .to_owned(),
    }
}

fn path_mtu_below_interface(f: &Told<'_>) -> Words {
    let cost = match f.is("offload") {
        true => {
            "The sender hands its interface super-packets (segmentation offload is on), so the \
             smaller frames cost its processors nothing."
                .to_owned()
        }
        false => format!(
            "The sender has no segmentation offload: each frame passes its whole stack, and frames \
             of {} bytes would be {:.1} times as fast.",
            f.count("largest_mtu"),
            decimal(f, "predicted_gain"),
        ),
    };
    Words {
        text: format!(
            "At {} packets of at most {} bytes pass, though an interface of the path sends up to \
             {}. {cost}",
            f.at(),
            f.count("smallest_mtu"),
            f.count("largest_mtu"),
        ),
        fix: format!(
            "Set the MTU to {} on every port of the link, switch ports included; or lower all of \
             them to {}.",
            f.count("largest_mtu"),
            f.count("smallest_mtu"),
        ),
    }
}

fn small_frames(f: &Told<'_>) -> Words {
    Words {
        text: format!(
            "The path uses frames of {} bytes, and the sender has no segmentation offload, so \
             each costs it a passage through the stack: 8 KiB go in {} frames instead of {}. By \
             what a frame and what a byte cost here, frames of 9000 bytes would be {:.1} times as \
             fast.",
            f.count("mtu"),
            f.count("frames_per_8_kib"),
            f.count("frames_per_8_kib_jumbo"),
            decimal(f, "predicted_gain"),
        ),
        fix: "Switch segmentation offload on where the driver can (`ethtool -K DEV tso on gso on \
              gro on`); that gains the same without touching the switches. Else set the MTU to \
              9000 on every port of the link."
            .to_owned(),
    }
}

fn window_too_small(f: &Told<'_>) -> Words {
    let side = match f.name("sysctl") {
        "net.ipv4.tcp_rmem" => "for the receiver's window",
        _ => "for room in the send buffer",
    };
    let needed = f.count("needed_bytes");
    Words {
        text: format!(
            "One stream got {} and waited {side} for {} % of its time: {} on {} ends at {}, and a \
             round trip of {} at the rate the path can carry holds {}.",
            mb(f, "stream_mb_per_s"),
            f.count("held_up_percent"),
            f.name("sysctl"),
            f.host(),
            f.bytes("largest_bytes").unwrap_or_default(),
            f.time("round_trip_ns"),
            f.bytes("bandwidth_delay_bytes").unwrap_or_default(),
        ),
        fix: format!(
            "On {}: `sysctl -w {}='4096 131072 {}'` (at least {needed}; the default or more costs \
             nothing), and the same in /etc/sysctl.d. A program that sets SO_RCVBUF or SO_SNDBUF \
             itself is capped by net.core.rmem_max and wmem_max instead.",
            f.host(),
            f.name("sysctl"),
            needed.max(6_291_456),
        ),
    }
}

fn rate_limit(f: &Told<'_>) -> Words {
    let who = match f.object() {
        Some(object) => format!(
            "{object} on {} holds the path to {}",
            f.at(),
            f.speed("limit_bits_per_s").unwrap_or_default()
        ),
        None => format!(
            "Something between {} and {}{} holds the path to {}",
            f.host(),
            f.peer(),
            f.on_link(),
            f.speed("limit_bits_per_s").unwrap_or_default()
        ),
    };
    Words {
        text: format!(
            "{who}: one stream got {}, several together {}, the hosts' own stacks can do {}, and \
             the busier host spent {} % of a processor on it.",
            mb(f, "stream_mb_per_s"),
            mb(f, "streams_mb_per_s"),
            mb(f, "loopback_mb_per_s"),
            f.count("processor_percent"),
        ),
        fix: match f.object() {
            Some(_) => {
                "If it is not meant to be there, remove it (`tc qdisc del dev DEV root`) or \
                        raise its rate."
                    .to_owned()
            }
            None => "Look at what the hosts cannot see: the switch ports' negotiated speed and \
                     rate limits, a hypervisor's limit on the virtual interface, the provider's \
                     contract."
                .to_owned(),
        },
    }
}

fn policer(f: &Told<'_>) -> Words {
    let burst = match f.bytes("burst_bytes") {
        Some(bytes) => format!(" after a burst of about {bytes} that passed unhindered"),
        None => String::new(),
    };
    let who = match f.object() {
        Some(object) => format!("{object} on {}", f.at()),
        None => format!(
            "Something between {} and {}{}",
            f.host(),
            f.peer(),
            f.on_link()
        ),
    };
    Words {
        text: format!(
            "{who} holds the path to {}{burst}, and drops what is above it: {:.1} % of the \
             segments were lost. Several streams together got {}.",
            f.speed("limit_bits_per_s").unwrap_or_default(),
            decimal(f, "lost_percent"),
            mb(f, "streams_mb_per_s"),
        ),
        fix: "Raise the limit where it is set. Where it must stay, let the sender shape to just \
              below it (`tc qdisc replace dev DEV root tbf rate RATE burst 256kb latency 20ms`), \
              so that packets wait instead of being dropped."
            .to_owned(),
    }
}

pub(super) fn softirq_core_saturated(f: &Told<'_>) -> Words {
    Words {
        text: format!(
            "Processor {} of {} spent {} % of its time handling packets, while the others were \
             idle for {} % of theirs; one stream got {}.",
            f.count("processor"),
            f.host(),
            f.count("softirq_percent"),
            f.count("others_idle_percent"),
            mb(f, "stream_mb_per_s"),
        ),
        fix: format!(
            "Spread the work: more receive queues (`ethtool -L {i} combined N`) with their \
             interrupts on different processors, or receive packet steering \
             (`/sys/class/net/{i}/queues/rx-*/rps_cpus`).",
            i = f.interface(),
        ),
    }
}

fn congestion_control(f: &Told<'_>) -> Words {
    if !f.name("other").is_empty() {
        return other_congestion_control(f);
    }
    Words {
        text: format!(
            "{} slows down at every loss: {:.2} % of the segments were lost, and one stream \
             got {} where {} are possible.",
            f.name("congestion_control"),
            decimal(f, "lost_percent"),
            mb(f, "stream_mb_per_s"),
            mb(f, "better_mb_per_s"),
        ),
        fix: "Find the loss first (`hawser check`). On a path that cannot be freed of it use a \
              congestion control that is not governed by loss: `sysctl -w \
              net.ipv4.tcp_congestion_control=bbr`."
            .to_owned(),
    }
}

fn other_congestion_control(f: &Told<'_>) -> Words {
    let loss = match decimal(f, "lost_percent") {
        lost if lost < 0.005 => "lost nothing".to_owned(),
        lost => format!("lost {lost:.2} % of its segments"),
    };
    let find_it = match decimal(f, "lost_percent") {
        lost if lost < 0.005 => "",
        _ => "Find the loss first (`hawser check`). ",
    };
    let (own, other) = (f.name("congestion_control"), f.name("other"));
    Words {
        text: format!(
            "One stream with {own} got {} and {loss}; with {other}, measured on the same path, it got {}.",
            mb(f, "stream_mb_per_s"),
            mb(f, "better_mb_per_s"),
        ),
        fix: format!(
            "{find_it}For this network alone: `ip route change NETWORK dev {} proto kernel scope link src \
             ADDRESS congctl {other}` on {} (`ip route` shows its line; without `congctl` it is as before). For \
             all of the host: `sysctl -w net.ipv4.tcp_congestion_control={other}`.",
            f.interface(),
            f.host(),
        ),
    }
}

fn single_stream(f: &Told<'_>) -> Words {
    let mut reasons = Vec::new();
    if f.count("bond_members") > 1 {
        reasons.push(format!(
            "the interface is a bond of {}, and a stream stays on one member",
            f.count("bond_members")
        ));
    }
    if f.count("processor_percent") > 90 {
        reasons.push("one processor did all of its work".to_owned());
    }
    if decimal(f, "lost_percent") > 0.05 {
        reasons.push(format!(
            "{:.2} % of its segments were lost",
            decimal(f, "lost_percent")
        ));
    }
    let why = match reasons.is_empty() {
        true => "Why is not seen from the hosts".to_owned(),
        false => format!("Seen meanwhile: {}", reasons.join("; ")),
    };
    Words {
        text: format!(
            "One stream from {} to {} got {}, {} streams together {}. {why}.",
            f.host(),
            f.peer(),
            mb(f, "stream_mb_per_s"),
            f.count("streams"),
            mb(f, "streams_mb_per_s"),
        ),
        fix: "Let the program use several streams, or remove what holds one of them: a hash of \
              the bond over ports (`xmit_hash_policy=layer3+4`) spreads streams, it does not split \
              one."
            .to_owned(),
    }
}

fn unit_below_link(f: &Told<'_>) -> Words {
    Words {
        text: format!(
            "{} gives {} at most {}, with a queue depth of {} ({} when each request is waited for); the link \
             carried {}.",
            f.object().unwrap_or("The unit"),
            f.host(),
            mb(f, "unit_mb_per_s"),
            f.count("queue_depth"),
            mb(f, "one_request_mb_per_s"),
            mb(f, "link_mb_per_s"),
        ),
        fix: "Look at the head that offers it while it is read: its disks (`iostat -x 1`), and the target's \
              own threads (`top -H`: tgtd serves a connection with one). More requests in flight do not \
              help, several sessions may."
            .to_owned(),
    }
}

fn storage_below_link(f: &Told<'_>) -> Words {
    let (what, way) = match f.name("direction") {
        "read" => ("read", "Reading"),
        _ => ("write", "Writing"),
    };
    let manner = match f.is("direct") {
        true => " past the page cache",
        false => "",
    };
    Words {
        text: format!(
            "{way} {} on {}{manner} gives {}, the link carried {}: no change of the network makes \
             this path faster.",
            f.object().unwrap_or("the storage"),
            f.host(),
            mb(f, "storage_mb_per_s"),
            mb(f, "link_mb_per_s"),
        ),
        fix: format!(
            "Look at the device while it works (`iostat -x 1`): its queue, its own cache, a \
             rebuilding array, an I/O limit of a control group. A larger block or several \
             requests at once ({what}-ahead, queue depth) help a disk that waits for each."
        ),
    }
}

fn cipher_without_instructions(f: &Told<'_>) -> Words {
    Words {
        text: format!(
            "{} has no `{}` instruction for {} ({}): {}.",
            f.host(),
            f.name("missing"),
            f.name("cipher"),
            f.object().unwrap_or("its processor"),
            mb(f, "cipher_mb_per_s"),
        ),
        fix: "In a virtual machine give the guest the host's processor (`-cpu host`, `cpu: host`, \
              EVC or a CPU mask without the exclusion); a physical one without it wants another \
              processor, or no encryption here."
            .to_owned(),
    }
}

fn cipher_chained(f: &Told<'_>) -> Words {
    Words {
        text: format!(
            "{} chains its blocks: one stream encrypts {} and decrypts {}, while the link carried \
             {}.",
            f.name("cipher"),
            mb(f, "encrypt_mb_per_s"),
            mb(f, "decrypt_mb_per_s"),
            mb(f, "link_mb_per_s"),
        ),
        fix: "Use GCM (or CTR with an authentication of its own): their blocks are independent, \
              and GCM authenticates as well. Where it must be CBC, several streams use several \
              processors."
            .to_owned(),
    }
}

fn cipher_below_link(f: &Told<'_>) -> Words {
    Words {
        text: format!(
            "One processor of {} does {} of {}, the link carried {}.",
            f.host(),
            mb(f, "cipher_mb_per_s"),
            f.name("cipher"),
            mb(f, "link_mb_per_s"),
        ),
        fix: "Use several streams, each with a processor of its own; or a shorter key \
              (`hawser bench cipher` shows what it gains here)."
            .to_owned(),
    }
}

fn kernel_cipher_slow(f: &Told<'_>) -> Words {
    Words {
        text: format!(
            "{} by the kernel of {} does {}, in user space {}.",
            f.name("cipher"),
            f.host(),
            mb(f, "kernel_mb_per_s"),
            mb(f, "user_mb_per_s"),
        ),
        fix: "See which driver the kernel chose (`grep -A1 aes /proc/crypto`): load the \
              accelerated one (`modprobe aesni_intel`, `ghash_clmulni_intel`), and encrypt in a \
              program where the kernel has none."
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_of_a_ladder_has_words_and_every_word_a_cause() {
        let mut causes: Vec<&str> = crate::ladder_codes().collect();
        // A check finds these, too.
        causes.retain(|code| !["speed-below-peer", "softirq-core-saturated"].contains(code));
        causes.sort_unstable();
        let words: Vec<&str> = WORDS.iter().map(|(code, _)| *code).collect();
        assert_eq!(causes, words);
    }
}
