//! What happens between the hosts.

use hawser_model::drops::{DropScope, DropSubject};
use hawser_model::units::{Mtu, Packets};

use super::{Planted, planted_as};
use crate::support::cluster::*;
use crate::support::faults::*;

pub fn planted() -> Vec<Planted> {
    vec![
        black_hole_of_one_family(),
        one_direction(),
        cable(),
        one_host(),
        everything(),
        wire_counters_only(),
        fragments_on_the_wire(),
        multicast(),
        frames_pass_but_no_ip(),
        checksum(),
        corrupted(),
        corrupted_both_ways(),
        duplicated(),
        reordered(),
        black_hole(),
        black_hole_one_direction(),
        mismatch_with_peer(),
        mismatch_with_file(),
        told(),
        cut_by_route(),
        cut_on_the_way(),
    ]
}

fn one_direction() -> Planted {
    let mut case = clean(&RINGS);
    wire(bulk(&mut case), 100, 1);
    planted_as(
        "loss-between-hosts-direction",
        case,
        100,
        &["loss-between-hosts"],
    )
}

/// A bad cable: both directions of ring1, in bursts.
fn cable() -> Planted {
    let mut case = clean(&RINGS);
    wire(
        phase_of(&mut case, "head1", "head2", "ring1", Bulk),
        400,
        25,
    );
    wire(
        phase_of(&mut case, "head2", "head1", "ring1", Bulk),
        350,
        25,
    );
    planted_as(
        "loss-between-hosts-cable",
        case,
        750,
        &["loss-between-hosts"],
    )
}

fn one_host() -> Planted {
    let mut case = clean(&Shape {
        hosts: &["head1", "head2", "head3"],
        kinds: &[Bulk],
        ..RINGS
    });
    for link in ["ring0", "ring1"] {
        for from in ["head1", "head3"] {
            wire(phase_of(&mut case, from, "head2", link, Bulk), 80, 1);
        }
    }
    planted_as(
        "loss-between-hosts-one-host",
        case,
        320,
        &["loss-between-hosts"],
    )
}

fn everything() -> Planted {
    let mut case = clean(&RINGS);
    for link in ["ring0", "ring1"] {
        for (from, to) in [("head1", "head2"), ("head2", "head1")] {
            wire(phase_of(&mut case, from, to, link, Bulk), 50, 1);
        }
    }
    planted_as(
        "loss-between-hosts-everything",
        case,
        200,
        &["loss-between-hosts"],
    )
}

/// The interfaces' own counters prove all but the few foreign frames that came in meanwhile.
fn wire_counters_only() -> Planted {
    let mut case = clean(&PAIR);
    let phase = bulk(&mut case);
    wire(phase, 500, 1);
    count(&mut phase.receiver_window, &[("link/ring0/rx_packets", 4)]);
    without_ebpf(&mut case);
    Planted {
        unattributed: 4,
        ..planted_as(
            "counters-only-wire",
            case,
            500,
            &["loss-between-hosts", "unattributed-loss"],
        )
    }
}

/// Whole datagrams and fragments die on the same wire: one cause, although the receiver
/// counts unfinished datagrams.
fn fragments_on_the_wire() -> Planted {
    let mut case = clean(&BLOCKS);
    wire(bulk(&mut case), 100, 1);
    let phase = phase_of(&mut case, "head1", "head2", "ring0", Fragmented);
    lose(phase, 8);
    for tap in phase.receiver_window.taps.iter_mut().flatten() {
        // Nine later fragments of seven datagrams and one first fragment.
        tap.packets = Packets(49);
        tap.later_fragments = Packets(250 - 9);
    }
    count(&mut phase.receiver_window, &[("frag/inuse", 8)]);
    planted_as(
        "fragments-lost-between-hosts",
        case,
        108,
        &["loss-between-hosts"],
    )
}

fn multicast() -> Planted {
    let mut case = clean(&Shape {
        kinds: &[Bulk, Multicast],
        ..PAIR
    });
    for (from, to) in [("head1", "head2"), ("head2", "head1")] {
        wire(
            phase_of(&mut case, from, to, "ring0", Multicast),
            10_000,
            10_000,
        );
    }
    planted_as("multicast-lost", case, 20_000, &["loss-between-hosts"])
}

/// Hellos are heard, so the link lives; an access list of the switch takes all IP of one
/// direction.
fn frames_pass_but_no_ip() -> Planted {
    let mut case = clean(&RINGS);
    for kind in [Heartbeat, Bulk] {
        let phase = phase_of(&mut case, "head1", "head2", "ring0", kind);
        let n = phase.sender.sent.0;
        wire(phase, n, n);
    }
    planted_as(
        "loss-between-hosts-all-ip",
        case,
        10_075,
        &["loss-between-hosts"],
    )
}

/// One byte flipped on the way, and the receiver verifies.
fn checksum() -> Planted {
    let mut case = clean(&PAIR);
    let phase = bulk(&mut case);
    lose(phase, 90);
    phase.receiver.socket_drops = Packets(90);
    let subject = flow(phase);
    let window = &mut phase.receiver_window;
    count(window, &[("udp/InCsumErrors", 90), ("udp/InErrors", 90)]);
    event(
        window,
        subject,
        DropScope::Unknown,
        "UDP_CSUM",
        "__first_packet_length",
        90,
    );
    // Every agent of the machine sees an event without a namespace.
    event(
        &mut phase.sender_window,
        subject,
        DropScope::Unknown,
        "UDP_CSUM",
        "__first_packet_length",
        90,
    );
    planted_as("checksum-errors", case, 90, &["checksum-errors"])
}

/// The receiver trusts the sender's offload: the program gets damaged data, some of it with a
/// damaged magic.
fn corrupted() -> Planted {
    let mut case = clean(&PAIR);
    let phase = bulk(&mut case);
    lose(phase, 90);
    phase.receiver.corrupted = Packets(90);
    for tap in phase.receiver_window.taps.iter_mut().flatten() {
        tap.packets = tap.packets - Packets(6);
        tap.damaged = Packets(6);
    }
    planted_as("delivered-corrupted", case, 90, &["checksum-errors"])
}

/// A bad cable damages both directions: one finding, not one a host.
fn corrupted_both_ways() -> Planted {
    let mut case = clean(&RINGS);
    for (from, to) in [("head1", "head2"), ("head2", "head1")] {
        let phase = phase_of(&mut case, from, to, "ring1", Bulk);
        lose(phase, 90);
        phase.receiver.corrupted = Packets(88);
        phase.receiver.socket_drops = Packets(2);
        count(&mut phase.receiver_window, &[("udp/InCsumErrors", 2)]);
    }
    planted_as("corrupted-both-ways", case, 180, &["checksum-errors"])
}

fn duplicated() -> Planted {
    let mut case = clean(&BLOCKS);
    let phase = phase_of(&mut case, "head1", "head2", "ring0", Fragmented);
    for tap in phase.receiver_window.taps.iter_mut().flatten() {
        // Single pieces came twice; no datagram did.
        tap.later_fragments += Packets(3);
    }
    let phase = bulk(&mut case);
    phase.receiver.duplicates = Packets(200);
    for tap in phase.receiver_window.taps.iter_mut().flatten() {
        tap.packets += Packets(200);
    }
    count(
        &mut phase.receiver_window,
        &[("link/ring0/rx_packets", 200)],
    );
    for hello in case.hellos.iter_mut().flatten() {
        hello.copies = if hello.from.0 == "head1" { 2 } else { 1 };
    }
    planted_as("duplicated-path", case, 0, &["duplicated-path"])
}

fn reordered() -> Planted {
    let mut case = clean(&PAIR);
    bulk(&mut case).receiver.reordered = Packets(500);
    // A thread that moved to another CPU: two packets, not held against the way back.
    let back = phase_of(&mut case, "head2", "head1", "ring0", Bulk);
    back.receiver.reordered = Packets(2);
    planted_as("reordered-path", case, 0, &["reordered-path"])
}

fn silent(case: &mut hawser_model::case::Case, from: &str, to: &str, passed: u32) {
    let m = measurement(case, from, to, "ring0");
    let found = m.path_mtu.as_mut().expect("a search");
    found.passed = Some(Mtu(passed));
    found.silent = Some(Mtu(passed + 1));
    let phase = phase_of(case, from, to, "ring0", Bulk);
    wire(phase, 10_000, 10_000);
}

/// One switch at 1500 on a jumbo link; heartbeats pass.
fn black_hole() -> Planted {
    let mut case = clean(&JUMBO);
    silent(&mut case, "head1", "head2", 1_500);
    silent(&mut case, "head2", "head1", 1_500);
    planted_as("mtu-black-hole", case, 20_000, &["mtu-black-hole"])
}

fn black_hole_one_direction() -> Planted {
    let mut case = clean(&JUMBO);
    silent(&mut case, "head1", "head2", 4_000);
    planted_as(
        "mtu-black-hole-one-direction",
        case,
        10_000,
        &["mtu-black-hole"],
    )
}

/// head2 was left at 1400: large packets die in its interface, which counts them nowhere but
/// in its peer's and its own dropped.
fn mismatch_with_peer() -> Planted {
    let mut case = clean(&PAIR);
    interface(&mut case, "head2", "ring0").mtu = Some(Mtu(1_400));
    silent(&mut case, "head1", "head2", 1_418);
    let phase = bulk(&mut case);
    count(
        &mut phase.sender_window,
        &[("link/ring0/tx_dropped", 10_000)],
    );
    count(
        &mut phase.receiver_window,
        &[("link/ring0/rx_dropped", 10_000)],
    );
    let subject = flow(phase);
    own_event(
        &mut phase.receiver_window,
        subject,
        "NOT_SPECIFIED",
        "__dev_forward_skb2",
        10_000,
    );
    planted_as("mtu-mismatch-peer", case, 10_000, &["mtu-mismatch"])
}

fn mismatch_with_file() -> Planted {
    let mut case = clean(&PAIR);
    case.topology.links[0].mtu = Some(Mtu(9_000));
    planted_as("mtu-mismatch-file", case, 0, &["mtu-mismatch"])
}

fn told() -> Planted {
    let mut case = clean(&PAIR);
    let m = measurement(&mut case, "head1", "head2", "ring0");
    let found = m.path_mtu.as_mut().expect("a search");
    found.passed = Some(Mtu(1_400));
    found.told = Some(Mtu(1_400));
    let phase = bulk(&mut case);
    phase
        .sender
        .refused
        .insert("EMSGSIZE".to_owned(), Packets(9_999));
    lose_in_runs(phase, 9_999, 9_999);
    not_sent(phase, 9_999);
    planted_as("mtu-told", case, 9_999, &["mtu-mismatch"])
}

/// `ip route change … mtu 600`: the path carries 1500.
fn cut_by_route() -> Planted {
    let mut case = clean(&BLOCKS);
    let m = measurement(&mut case, "head1", "head2", "ring0");
    m.path_mtu.as_mut().expect("a search").told = Some(Mtu(600));
    let phase = phase_of(&mut case, "head1", "head2", "ring0", Fragmented);
    for window in [&mut phase.sender_window, &mut phase.receiver_window] {
        for tap in window.taps.iter_mut().flatten() {
            tap.later_fragments = Packets(50 * 14);
        }
    }
    planted_as(
        "needless-fragmentation-route",
        case,
        0,
        &["needless-fragmentation"],
    )
}

/// A bridge with bridge-nf-call-iptables puts datagrams together and cuts them anew.
fn cut_on_the_way() -> Planted {
    let mut case = clean(&PAIR);
    let phase = bulk(&mut case);
    for tap in phase.receiver_window.taps.iter_mut().flatten() {
        tap.later_fragments = Packets(10_000);
    }
    count(
        &mut phase.receiver_window,
        &[("ip/ReasmReqds", 20_000), ("ip/ReasmOKs", 10_000)],
    );
    event(
        &mut phase.receiver_window,
        DropSubject::Other,
        DropScope::Unknown,
        "NOT_SPECIFIED",
        "br_nf_dev_queue_xmit",
        3,
    );
    planted_as(
        "needless-fragmentation-on-the-way",
        case,
        0,
        &["needless-fragmentation"],
    )
}

/// A filter of head2 drops large packets of IPv6, while the flows use IPv4.
fn black_hole_of_one_family() -> Planted {
    let mut case = clean(&JUMBO);
    for (from, to) in [("head1", "head2"), ("head2", "head1")] {
        let measured = measurement(&mut case, from, to, "ring0");
        let mut other = measured.path_mtu.clone().expect("a search");
        other.source = "fd77::1".parse().expect("an address");
        other.destination = "fd77::2".parse().expect("an address");
        if to == "head2" {
            (other.passed, other.silent) = (Some(Mtu(1_500)), Some(Mtu(1_501)));
        }
        measured.path_mtu_other = Some(other);
    }
    planted_as("mtu-black-hole-one-family", case, 0, &["mtu-black-hole"])
}
