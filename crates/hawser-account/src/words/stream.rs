//! Words on TCP streams of a check: why one was slow.

use hawser_model::units::{BitsPerSec, Bytes};

use super::{Told, Words};
use crate::copy::fell::mb;

/// `fell from 900 MB/s to 10.0 MB/s after 20.0 MiB (0.02 s)`.
fn fell(f: &Told<'_>) -> String {
    format!(
        "fell from {} to {} after {} ({:.2} s)",
        mb(f.count("before_bytes_per_s")),
        mb(f.count("after_bytes_per_s")),
        Bytes(f.count("at_bytes")),
        f.count("at_ms") as f64 / 1e3,
    )
}

pub(super) fn receive_merging(f: &Told<'_>) -> Words {
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
    let what = match f.is("lost") {
        true => format!(
            "{} of {} segments had to be sent again",
            f.count("lost"),
            f.count("segments"),
        ),
        false => "Nothing was dropped, so it is held back in a queue, or other traffic began \
                  just then"
            .to_owned(),
    };
    Words {
        text: format!(
            "The TCP stream from {} to {}{} {} and stayed there (within {} %). Something on the way lets \
             a burst of about {} pass and then {}: a policer or shaper. {what}. Neither disk nor \
             receive window held it back.",
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
