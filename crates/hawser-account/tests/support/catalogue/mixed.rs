//! Several things at once: overload, other people's traffic, two faults.

use hawser_model::drops::{DropScope, DropSubject};

use super::{Planted, planted_as};
use crate::support::cluster::*;
use crate::support::faults::*;

pub fn planted() -> Vec<Planted> {
    vec![
        events_short(),
        foreign_noise(),
        two_faults(),
        two_faults_in_one_phase(),
        two_faults_counters_only(),
        one_filter_on_two_links(),
    ]
}

/// Under overload the events were short by 6 %: the counter of the same layer tops them up
/// to the exact loss of that part of the path.
fn events_short() -> Planted {
    let mut case = clean(&PAIR);
    queue_overflow(bulk(&mut case), 5_000, 4_700);
    let back = phase_of(&mut case, "head2", "head1", "ring0", Bulk);
    backlog_overflow(back, 2_000, 1_900);
    planted_as(
        "events-short-under-overload",
        case,
        7_000,
        &["sender-queue-drops", "backlog-overflow"],
    )
}

/// Our flow loses 400 packets to its buffer while other programs' packets move every other
/// counter and die in the filter by thousands.
fn foreign_noise() -> Planted {
    let mut case = clean(&PAIR);
    let phase = bulk(&mut case);
    socket_overflow(phase, 400, 20);
    let window = &mut phase.receiver_window;
    count(
        window,
        &[
            ("udp/RcvbufErrors", 9_000),
            ("udp/NoPorts", 700),
            ("ip/InAddrErrors", 20),
            ("softnet/0/dropped", 3_000),
            ("link/ring0/rx_dropped", 3_000),
            ("link/ring0/rx_packets", 50_000),
            ("nft/inet/filter/input/9/drops", 5_000),
        ],
    );
    window
        .sockets
        .push(socket("feedd", "239.1.2.3:7000", 212_992, 9_000));
    for (reason, at, n) in [
        ("NETFILTER_DROP", "nf_hook_slow", 5_000),
        ("CPU_BACKLOG", "enqueue_to_backlog", 3_000),
        ("SOCKET_RCVBUFF", "__udp_enqueue_schedule_skb", 9_000),
        ("NO_SOCKET", "__udp4_lib_rcv", 700),
    ] {
        event(
            window,
            DropSubject::Other,
            DropScope::ThisHost,
            reason,
            at,
            n,
        );
    }
    planted_as(
        "foreign-noise",
        case,
        400,
        &["foreign-socket-dropping", "receive-buffer-too-small"],
    )
}

/// A filter on one link of head2, a bad cable on the other.
fn two_faults() -> Planted {
    let mut case = clean(&RINGS);
    input_filter(bulk(&mut case), 1_000);
    wire(phase_of(&mut case, "head1", "head2", "ring1", Bulk), 60, 1);
    wire(phase_of(&mut case, "head2", "head1", "ring1", Bulk), 60, 1);
    planted_as(
        "two-faults",
        case,
        1_120,
        &["firewall-drop", "loss-between-hosts"],
    )
}

/// The same packets pass a full queue, a lossy wire and a small buffer.
fn two_faults_in_one_phase() -> Planted {
    let mut case = clean(&PAIR);
    let phase = bulk(&mut case);
    queue_overflow(phase, 3_000, 3_000);
    wire(phase, 70, 1);
    socket_overflow(phase, 500, 20);
    planted_as(
        "three-faults-in-one-flow",
        case,
        3_570,
        &[
            "sender-queue-drops",
            "receive-buffer-too-small",
            "loss-between-hosts",
        ],
    )
}

/// Counters alone: queue and socket are counted for sure; two filters' and an address
/// counter, moved by others, compete for nothing that is left.
fn two_faults_counters_only() -> Planted {
    let mut case = clean(&PAIR);
    let phase = bulk(&mut case);
    queue_overflow(phase, 3_000, 3_000);
    socket_overflow(phase, 500, 20);
    count(
        &mut phase.receiver_window,
        &[
            ("nft/inet/filter/input/9/drops", 40),
            ("link/ring0/rx_packets", 90),
        ],
    );
    without_ebpf(&mut case);
    // 3 000 are left for a queue that counted 3 000 and a filter that counted 40: only what
    // the filter cannot hold is the queue's.
    Planted {
        unattributed: 40,
        ..planted_as(
            "counters-only-two-faults",
            case,
            3_500,
            &[
                "sender-queue-drops",
                "receive-buffer-too-small",
                "unattributed-loss",
            ],
        )
    }
}

/// One rule without an interface: one finding, not one a link.
fn one_filter_on_two_links() -> Planted {
    let mut case = clean(&RINGS);
    for link in ["ring0", "ring1"] {
        input_filter(phase_of(&mut case, "head1", "head2", link, Bulk), 1_000);
    }
    planted_as("one-rule-two-links", case, 2_000, &["firewall-drop"])
}
