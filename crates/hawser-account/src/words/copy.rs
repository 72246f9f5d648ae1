//! Words on copies: why one was slow.

use hawser_model::units::{BitsPerSec, Bytes};

use super::{Told, Words};

/// `fell from 900 MB/s to 10.0 MB/s at 20.0 MiB (0.02 s)`, or how fast it was at all.
fn fell(f: &Told<'_>) -> String {
    let mb = |key: &str| {
        let rate = f.count(key) as f64 / 1e6;
        match rate {
            r if r >= 100.0 => format!("{r:.0} MB/s"),
            r if r >= 1.0 => format!("{r:.1} MB/s"),
            r => format!("{:.0} kB/s", r * 1e3),
        }
    };
    if f.number("at_bytes").is_none() {
        return format!("ran at {}", mb("bytes_per_s"));
    }
    format!(
        "fell from {} to {} after {} ({:.2} s)",
        mb("before_bytes_per_s"),
        mb("after_bytes_per_s"),
        Bytes(f.count("at_bytes")),
        f.count("at_ms") as f64 / 1e3,
    )
}

pub(super) fn disk_stall(f: &Told<'_>) -> Words {
    let (what, side) = match f.is("writing") {
        true => ("writing to", "destination"),
        false => ("reading from", "source"),
    };
    Words {
        text: format!(
            "The copy {} because of the disk of {}: from there on {} % of the time went into {what} \
             the {side}, before {} %. The network was not what it waited for.",
            fell(f),
            f.host(),
            f.count("disk_percent_after"),
            f.count("disk_percent_before"),
        ),
        fix: match f.is("writing") {
            true => {
                "This is what the disk can take once its cache or the page cache is full: look at \
                     it with `iostat -x 1` during a copy. `sysctl vm.dirty_bytes` and \
                     `vm.dirty_background_bytes` decide how much is held in memory before; smaller \
                     values make the rate even, not higher."
                    .to_owned()
            }
            false => "This is what the disk can give beyond what was in memory: look at it with \
                      `iostat -x 1` during a copy, and at the read-ahead \
                      (`blockdev --getra`)."
                .to_owned(),
        },
    }
}

pub(super) fn receive_window(f: &Told<'_>) -> Words {
    let needed = f.count("window_bytes").saturating_mul(4).max(4 << 20);
    Words {
        text: format!(
            "The copy from {} {}: {} % of the time {} offered no more window ({}, receive buffer \
             {}), although its program was waiting for data {} % of the time. The round trip takes \
             {}.",
            f.peer(),
            fell(f),
            f.count("window_limited_percent"),
            f.host(),
            Bytes(f.count("window_bytes")),
            Bytes(f.count("receive_buffer")),
            f.count("receiver_idle_percent"),
            f.time("round_trip_ns"),
        ),
        fix: format!(
            "On {}: raise the third value of `net.ipv4.tcp_rmem` to at least bandwidth × round trip \
             × 2, for example `sysctl -w net.ipv4.tcp_rmem='4096 131072 {needed}'`; or copy with \
             `--streams 4`.",
            f.host(),
        ),
    }
}

pub(super) fn receive_merging(f: &Told<'_>) -> Words {
    if f.number("arrived_packets").is_some() {
        return stream_merging(f);
    }
    Words {
        text: format!(
            "The copy {} and TCP waited for {} retransmission timeouts. {} of {} merges received \
             segments in hardware (LRO is on; segments of {} B reached TCP on a path of {} B), which \
             is known to stall with some drivers. It is a suspicion: only a copy without it shows.",
            fell(f),
            f.count("timeouts"),
            f.interface(),
            f.host(),
            f.count("merged_bytes"),
            f.count("path_mtu"),
        ),
        fix: format!(
            "Try `ethtool -K {} lro off` on {} and copy again; the rate tells whether it was that. \
             It changes nothing but CPU time, and `lro on` takes it back.",
            f.interface(),
            f.host(),
        ),
    }
}

/// The same of a check's stream.
fn stream_merging(f: &Told<'_>) -> Words {
    let (by, option) = match f.name("feature") {
        "rx-lro" => ("its NIC merges received segments (LRO)", "lro"),
        "rx-gro-hw" => (
            "its NIC merges received segments (GRO in hardware)",
            "rx-gro-hw",
        ),
        _ => ("the kernel merges received segments there (GRO)", "gro"),
    };
    let arrived = match f.count("arrived_packets") >= f.count("segments") {
        true => format!(
            "All {} segments reached {}, and still {} were sent again: they were lost behind it",
            f.count("segments"),
            f.interface(),
            f.count("lost"),
        ),
        false => format!(
            "{} of {} segments were sent again",
            f.count("lost"),
            f.count("segments"),
        ),
    };
    Words {
        text: format!(
            "A TCP stream from {} to {}{} {}. {arrived}, while the reader waited for data {} % of \
             the time. On {} of {} {by}, and what loses merged segments looks like this. It is a \
             suspicion: only a run without merging shows.",
            f.peer(),
            f.host(),
            f.on_link(),
            fell(f),
            f.count("reader_waited_percent"),
            f.interface(),
            f.host(),
        ),
        fix: format!(
            "`hawser tune --stream` tries it and its likely mistakes under the same stream. By hand: \
             `ethtool -K {} {option} off` on {}; it costs CPU time, and `{option} on` takes it back.",
            f.interface(),
            f.host(),
        ),
    }
}

pub(super) fn rate_after_burst(f: &Told<'_>) -> Words {
    let of_check = f.number("segments").is_some();
    let dropping = f.count("lost_after") > 2 * f.count("lost_before");
    let what = match dropping {
        _ if of_check && f.is("lost") => format!(
            "{} of {} segments had to be sent again",
            f.count("lost"),
            f.count("segments"),
        ),
        true => format!(
            "What is over is dropped: {} segments had to be sent again from there on, {} before",
            f.count("lost_after"),
            f.count("lost_before"),
        ),
        false => "Nothing was dropped, so it is held back in a queue, or other traffic began \
                  just then"
            .to_owned(),
    };
    Words {
        text: format!(
            "The {} from {} to {}{} {} and stayed there (within {} %). Something on the way lets \
             a burst of about {} pass and then {}: a policer or shaper. {what}. Neither disk nor \
             receive window held it back.",
            if of_check { "TCP stream" } else { "copy" },
            f.host(),
            f.peer(),
            f.on_link(),
            fell(f),
            f.count("unsteady_percent").max(1),
            Bytes(f.count("burst_bytes")),
            BitsPerSec(f.count("bits_per_s")),
        ),
        fix: format!(
            "Look for a rate limit of {} with a burst of {}: `tc -s qdisc show` and `tc -s filter \
             show dev IFACE ingress` on both hosts, the switch port's policer or storm control, a \
             hypervisor's or provider's limit.",
            BitsPerSec(f.count("bits_per_s")),
            Bytes(f.count("burst_bytes")),
        ),
    }
}

pub(super) fn copy_retransmits(f: &Told<'_>) -> Words {
    let percent = f.0.evidence.get("lost_percent").and_then(|v| v.as_f64());
    Words {
        text: format!(
            "The copy from {} to {}{} {}, and TCP sent {} of {} segments again ({} timeouts), {} of \
             them needlessly: {} % were lost. {} came out of order. The interfaces counted {} drops and errors at {} and {} at {}.",
            f.host(),
            f.peer(),
            f.on_link(),
            fell(f),
            f.count("retransmits"),
            f.count("segments"),
            f.count("timeouts"),
            f.count("needless"),
            super::percent_text(percent.unwrap_or(0.0)),
            f.count("out_of_order"),
            f.count("sender_drops"),
            f.host(),
            f.count("receiver_drops"),
            f.peer(),
        ),
        fix: "Let `hawser check` measure this link: it says in which layer of which host, or between \
              them, packets are lost."
            .to_owned(),
    }
}
