//! Words on sockets and their buffers.

use hawser_model::units::{Bytes, Nanos, PacketsPerSec};

use super::{Told, Words, counted, packets};

/// Up to this `rmem_max`, kronosnet forces its own buffers; from it on it does not.
const KNET_FORCES_BELOW: u64 = 4 * 1024 * 1024;
/// From this `rmem_max` on it is granted all that it asks for.
const KNET_CONTENT_FROM: u64 = 8 * 1024 * 1024;

/// An `rmem_max` of at least `bytes` that does not halve Corosync's buffers.
fn rmem_max(bytes: u64) -> u64 {
    match bytes {
        n if (KNET_FORCES_BELOW..KNET_CONTENT_FROM).contains(&n) => KNET_CONTENT_FROM,
        n => n,
    }
}

/// The warning that belongs to every advice to raise `rmem_max`.
const KNET_TRAP: &str = "Where Corosync runs, do not leave net.core.rmem_max between 4194304 and \
                         8388607: kronosnet would then get half its buffer.";

fn raise_rmem_max(to: u64) -> String {
    format!(
        "`sysctl -w net.core.rmem_max={}` (the whole machine's limit). {KNET_TRAP}",
        rmem_max(to)
    )
}

pub(super) fn receive_buffer_too_small(f: &Told<'_>) -> Words {
    let buffer = f.count("buffer_bytes");
    let memory = f.count("packet_memory_bytes").max(1);
    let came = match (f.number("burst_packets"), f.number("buffer_lasts_ns")) {
        (Some(burst), _) if burst <= buffer / memory => format!(
            "{} were sent back to back: several bursts came together, or the reader was late",
            packets(burst)
        ),
        (Some(burst), _) => format!("{} came back to back", packets(burst)),
        (None, Some(lasts)) => format!(
            "at full speed that is {} of traffic, less than a reader may be late",
            Nanos(lasts)
        ),
        (None, None) => "they came as fast as the sender could".to_owned(),
    };
    let mut text = format!(
        "{} lost {} from {}{}: the receive buffer of {} was full. It holds about {}, and {came}.",
        f.host(),
        f.lost(),
        f.peer(),
        f.on_link(),
        Bytes(buffer),
        packets(buffer / memory),
    );
    match (
        f.number("capacity_packets_per_s"),
        f.number("arrival_packets_per_s"),
    ) {
        (Some(capacity), Some(arrival)) => text.push_str(&format!(
            " The reader is fast enough ({} against {} arriving{}), so a larger buffer cures it: \
             {} would have held this.",
            PacketsPerSec(capacity),
            PacketsPerSec(arrival),
            f.number("idle_percent")
                .map_or(String::new(), |i| format!(", idle {i} % of the time")),
            Bytes(f.count("needed_buffer_bytes")),
        )),
        _ => text.push_str(&format!(
            " How fast the reader is was not measured; {} would have held this.",
            Bytes(f.count("needed_buffer_bytes")),
        )),
    }
    let needed = f.count("needed_buffer_bytes");
    // The kernel doubles what a program asks for.
    let ask = needed / 2;
    let limit = f.number("rmem_max_bytes");
    let mut fix =
        format!("Let the program ask for the buffer: SO_RCVBUF {ask} (the kernel doubles it)");
    if limit.is_some_and(|limit| limit < ask) {
        fix.push_str(&format!(", after {}", raise_rmem_max(ask)));
    } else {
        fix.push('.');
    }
    if f.number("asked_bytes").is_none() {
        fix.push_str(&format!(
            " For programs that ask for nothing: `sysctl -w net.core.rmem_default={needed}` (the \
             whole machine: every new socket that asks for nothing gets it). Restart the \
             program; open sockets keep their buffers."
        ));
    }
    Words { text, fix }
}

pub(super) fn reader_too_slow(f: &Told<'_>) -> Words {
    let capacity = f.rate("capacity_packets_per_s").unwrap_or_default();
    let arrival = f.rate("arrival_packets_per_s").unwrap_or_default();
    let idle = f.number("idle_percent").map_or(String::new(), |i| {
        format!(", and it waited {i} % of the time")
    });
    if f.is("unpaced") {
        return Words {
            text: format!(
                "Sent as fast as the sender could, {} lost {} from {}{}: one reader there took \
                 {capacity} of {arrival} that arrived{idle}. That is this host's limit, not a fault of \
                 the path.",
                f.host(),
                f.lost(),
                f.peer(),
                f.on_link(),
            ),
            fix: "Nothing, if the programs here need less. Otherwise spread the work: several \
                  reading threads (SO_REUSEPORT), receive steering (RPS), a faster CPU."
                .to_owned(),
        };
    }
    Words {
        text: format!(
            "{} lost {} from {}{}: the program takes {capacity}, {arrival} arrive{idle}. A \
             larger buffer ({} now) would only postpone the loss.",
            f.host(),
            f.lost(),
            f.peer(),
            f.on_link(),
            f.bytes("buffer_bytes").unwrap_or_default(),
        ),
        fix: "Make the reader faster: read in batches (recvmmsg), in several threads \
              (SO_REUSEPORT), on a CPU of its own or with real-time priority; or send less. Do \
              not raise the buffer for it."
            .to_owned(),
    }
}

pub(super) fn reader_stalled(f: &Told<'_>) -> Words {
    let priority = match f.is("real_time") {
        true => {
            "although it has real-time priority, so look for what takes the CPU from the \
                 whole host: steal time of a virtual machine (`vmstat 1`, column st), firmware, \
                 a driver that keeps interrupts off"
        }
        false => {
            "and has no real-time priority: give the program one (`chrt -r`), as cluster \
                  engines do, or a CPU of its own"
        }
    };
    Words {
        text: format!(
            "{} lost {} from {}{} because the reading program was not run for {}; its buffer of \
             {} lasts {} at this rate. The program is fast enough and the path is not at fault.",
            f.host(),
            f.lost(),
            f.peer(),
            f.on_link(),
            f.time("stall_ns"),
            f.bytes("buffer_bytes").unwrap_or_default(),
            f.time("buffer_lasts_ns"),
        ),
        fix: format!(
            "The reader stood still {priority}. A buffer of {} would have bridged it.",
            f.bytes("needed_buffer_bytes").unwrap_or_default(),
        ),
    }
}

pub(super) fn buffer_not_granted(f: &Told<'_>) -> Words {
    let asked = f.count("asked_bytes");
    let granted = f.count("granted_bytes");
    let limit = f.bytes("rmem_max_bytes").map_or(String::new(), |max| {
        format!(" (net.core.rmem_max is {max})")
    });
    if let Some(object) = f.object() {
        return Words {
            text: format!(
                "{object} on {} has a receive buffer of {} although kronosnet asks for {}: it \
                 could not force it{limit}.",
                f.host(),
                Bytes(granted),
                Bytes(asked),
            ),
            fix: format!(
                "Give Corosync CAP_NET_ADMIN (it has it as root outside containers), or {} Then \
                 restart it.",
                raise_rmem_max(KNET_CONTENT_FROM)
            ),
        };
    }
    let lost = match f.count("lost_packets") {
        0 => " Nothing was lost for it today.".to_owned(),
        _ => format!(
            " It then lost {}; the buffer asked for would have held them.",
            f.lost()
        ),
    };
    Words {
        text: format!(
            "A socket on {} asked for a receive buffer of {} and got {} instead of {}{limit}; \
             the kernel cuts the request without an error.{lost}",
            f.host(),
            Bytes(asked),
            Bytes(granted),
            Bytes(asked.saturating_mul(2)),
        ),
        fix: format!(
            "{} Or let a privileged program use SO_RCVBUFFORCE.",
            raise_rmem_max(asked)
        ),
    }
}

pub(super) fn corosync_buffer_halved(f: &Told<'_>) -> Words {
    let max = f.bytes("rmem_max_bytes");
    let max = max.map_or(String::new(), |m| format!(" With net.core.rmem_max at {m}"));
    let lead = match max.is_empty() {
        true => " With the present net.core.rmem_max".to_owned(),
        false => max,
    };
    let dropped = match f.count("dropped_packets") {
        0 => String::new(),
        n => format!(" It dropped {} during the check.", packets(n)),
    };
    Words {
        text: format!(
            "The receive buffer of {} of Corosync on {} is {} instead of 16.0 MiB.{lead} the plain request for 8 MiB \
             seems granted, so kronosnet does not force more.{dropped}",
            counted(f.count("sockets"), "socket"),
            f.host(),
            f.bytes("buffer_bytes").unwrap_or_default(),
        ),
        fix: "`sysctl -w net.core.rmem_max=8388608` (the whole machine), or any value below \
              4194304, which kronosnet overrides; then restart Corosync on this node, since \
              open sockets keep their buffers. Set it in /etc/sysctl.d too."
            .to_owned(),
    }
}

pub(super) fn foreign_socket_dropping(f: &Told<'_>) -> Words {
    let (buffer, queued) = (f.count("buffer_bytes"), f.count("queued_bytes"));
    let full = buffer > 0 && queued.saturating_mul(10) >= buffer.saturating_mul(9);
    let state = match full {
        true => format!(
            "{} of it were still waiting afterwards, so the program reads too slowly or has \
             stopped",
            Bytes(queued)
        ),
        false => {
            "it was read empty again afterwards, so bursts are larger than the buffer".to_owned()
        }
    };
    let fix = match full {
        true => "See why the program does not read (CPU, a lock, SIGSTOP); a larger buffer will \
                 not help."
            .to_owned(),
        false => format!(
            "Let the program ask for a larger buffer (SO_RCVBUF {}), or raise \
             `net.core.rmem_default` if it asks for none; both cut at net.core.rmem_max. \
             {KNET_TRAP}",
            buffer.max(1)
        ),
    };
    Words {
        text: format!(
            "{} on {} dropped {} while the check ran. Its receive buffer is {}; {state}.",
            f.object().unwrap_or("A socket"),
            f.host(),
            f.packets("dropped_packets"),
            Bytes(buffer),
        ),
        fix,
    }
}

pub(super) fn udp_memory_pressure(f: &Told<'_>) -> Words {
    let own = match f.count("lost_packets") {
        0 => String::new(),
        _ => format!(" Our probes lost {}.", f.lost()),
    };
    let others = match f.count("other_sockets_dropped_packets") {
        0 => String::new(),
        n => format!(" Other programs' sockets dropped {}.", packets(n)),
    };
    let pages = f.number("udp_mem_max_pages");
    Words {
        text: format!(
            "All UDP sockets of {} together have used up the memory the kernel gives them{}: \
             sockets drop although their own buffers have room.{own}{others}",
            f.host(),
            pages.map_or(String::new(), |p| format!(" (net.ipv4.udp_mem, {p} pages)")),
        ),
        fix: match pages {
            Some(p) => {
                let p = p.saturating_mul(2);
                format!(
                    "`sysctl -w net.ipv4.udp_mem=\"{} {} {p}\"` (the whole machine, in pages of \
                     4096 bytes), or find the socket that hoards memory: `ss -uampn`. Larger \
                     buffers for single sockets make it worse.",
                    p / 2,
                    p / 4 * 3,
                )
            }
            None => "Raise `net.ipv4.udp_mem` (the whole machine, in pages), or find the socket \
                     that hoards memory: `ss -uampn`. Larger buffers for single sockets make it \
                     worse."
                .to_owned(),
        },
    }
}
