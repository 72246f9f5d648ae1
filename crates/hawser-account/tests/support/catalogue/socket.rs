//! Sockets and their buffers.

use hawser_model::case::Case;
use hawser_model::drops::{DropScope, DropSubject};
use hawser_model::host::CorosyncFacts;
use hawser_model::traffic::Drain;
use hawser_model::units::{Bytes, Nanos, Packets};

use super::{Planted, planted_as};
use crate::support::cluster::*;
use crate::support::faults::*;

pub fn planted() -> Vec<Planted> {
    vec![
        receive_buffer(),
        receive_buffer_v6(),
        receive_buffer_counters_only(),
        reader(),
        reader_at_full_speed(),
        reader_stalled(),
        reader_late_once(),
        bursts_together_once(),
        reader_stalled_in_a_short_phase(),
        not_granted(),
        not_granted_and_lossy(),
        not_granted_to_corosync(),
        corosync_halved(),
        corosync_halved_and_dropping(),
        corosync_forced(),
        foreign_socket(),
        foreign_socket_stopped(),
        memory(),
        memory_of_others(),
        send_refused(),
        no_listener(),
    ]
}

/// A host whose sockets get so little by default that they hold ten packets of a burst of
/// fifty: the report every cluster operator has met.
fn small_default(case: &mut Case, kind: hawser_model::case::PhaseKind, n: u64) {
    facts(case, "head2")
        .sysctls
        .insert("net.core.rmem_default".to_owned(), "23040".to_owned());
    let phase = phase_of(case, "head1", "head2", "ring0", kind);
    phase.receiver.buffer_granted = Bytes(23_040);
    socket_overflow(phase, n, 40);
}

fn receive_buffer() -> Planted {
    let mut case = clean(&PAIR);
    small_default(&mut case, Bulk, 4_000);
    planted_as(
        "receive-buffer-too-small",
        case,
        4_000,
        &["receive-buffer-too-small"],
    )
}

fn receive_buffer_v6() -> Planted {
    let mut case = clean(&Shape { v6: true, ..PAIR });
    small_default(&mut case, Bulk, 4_000);
    planted_as(
        "receive-buffer-ipv6",
        case,
        4_000,
        &["receive-buffer-too-small"],
    )
}

fn receive_buffer_counters_only() -> Planted {
    let mut case = clean(&PAIR);
    small_default(&mut case, Bulk, 4_000);
    without_ebpf(&mut case);
    planted_as(
        "counters-only-rcvbuf",
        case,
        4_000,
        &["receive-buffer-too-small"],
    )
}

/// 150 µs a packet: 6 667 a second against 10 000.
fn reader() -> Planted {
    let mut case = clean(&PAIR);
    let phase = bulk(&mut case);
    phase.spec.reader_delay = Nanos(150_000);
    socket_overflow(phase, 3_200, 2);
    phase.receiver.drain = Drain {
        busy: Nanos(6_800 * 150_000),
        idle: Nanos::from_millis(2),
        waits: 3,
    };
    planted_as("reader-too-slow", case, 3_200, &["reader-too-slow"])
}

fn reader_at_full_speed() -> Planted {
    let mut case = clean(&PAIR);
    let phase = bulk(&mut case);
    phase.spec.rate = hawser_model::traffic::Rate::Max;
    phase.sender.elapsed = Nanos::from_millis(40);
    socket_overflow(phase, 1_000, 7);
    phase.receiver.drain = Drain {
        busy: Nanos::from_millis(45),
        idle: Nanos(300_000),
        waits: 4,
    };
    planted_as("reader-full-speed", case, 1_000, &["reader-too-slow"])
}

/// As seen on a busy virtual machine: the reader stood still for 149 ms in a second.
fn reader_stalled() -> Planted {
    let mut case = clean(&PAIR);
    let phase = bulk(&mut case);
    socket_overflow(phase, 1_398, 1_398);
    phase.receiver.longest_gap = Nanos::from_millis(149);
    phase.receiver.drain = Drain {
        busy: Nanos::from_millis(168),
        idle: Nanos::from_millis(827),
        waits: 3_616,
    };
    planted_as("reader-stalled", case, 1_398, &["reader-stalled"])
}

/// As seen with another program on the receiver's CPU: once in a second two bursts found the
/// reader late, by less than a stall.
fn reader_late_once() -> Planted {
    let mut case = clean(&PAIR);
    let phase = bulk(&mut case);
    phase.receiver.buffer_granted = Bytes(92 * 2_304);
    socket_overflow(phase, 6, 6);
    phase.receiver.longest_gap = Nanos(7_998_404);
    planted_as("reader-late-once", case, 6, &["receive-buffer-too-small"])
}

/// As seen on a virtual machine whose processors were taken for 8 ms: three bursts came together once, and the reader
/// took some of the last one meanwhile.
fn bursts_together_once() -> Planted {
    let mut case = clean(&PAIR);
    let phase = bulk(&mut case);
    phase.receiver.buffer_granted = Bytes(92 * 2_304);
    socket_overflow(phase, 61, 54);
    phase.receiver.loss_runs_by_length = [(54, 1), (3, 1), (2, 2)].into();
    phase.receiver.longest_gap = Nanos(8_586_710);
    let codes = &["receive-buffer-too-small"];
    planted_as("bursts-together-once", case, 61, codes)
}

/// The stall is most of a short phase, so that over all the reader took less than arrived.
fn reader_stalled_in_a_short_phase() -> Planted {
    let mut case = clean(&PAIR);
    let phase = phase_of(&mut case, "head1", "head2", "ring0", Heartbeat);
    phase.spec.rate =
        hawser_model::traffic::Rate::PerSecond(hawser_model::units::PacketsPerSec(2_500));
    phase.sender.elapsed = Nanos::from_millis(30);
    phase.receiver.buffer_granted = Bytes(4 * 1_280);
    socket_overflow(phase, 60, 60);
    phase.receiver.longest_gap = Nanos::from_millis(26);
    phase.receiver.drain = Drain {
        busy: Nanos(26_300_000),
        idle: Nanos(3_700_000),
        waits: 10,
    };
    planted_as("reader-stalled-short", case, 60, &["reader-stalled"])
}

fn asks(case: &mut Case, asked: u64, granted: u64) {
    let phase = bulk(case);
    phase.spec.receive_buffer = Some(Bytes(asked));
    phase.receiver.buffer_asked = Some(Bytes(asked));
    phase.receiver.buffer_granted = Bytes(granted);
}

fn not_granted() -> Planted {
    let mut case = clean(&PAIR);
    asks(&mut case, 4_194_304, 425_984);
    planted_as("buffer-not-granted", case, 0, &["buffer-not-granted"])
}

fn not_granted_and_lossy() -> Planted {
    let mut case = clean(&PAIR);
    facts(&mut case, "head2")
        .sysctls
        .insert("net.core.rmem_max".to_owned(), "16384".to_owned());
    asks(&mut case, 1_048_576, 32_768);
    socket_overflow(bulk(&mut case), 3_600, 36);
    planted_as(
        "buffer-not-granted-lossy",
        case,
        3_600,
        &["buffer-not-granted"],
    )
}

/// A Corosync with knet links on head1.
fn corosync(case: &mut Case, rmem_max: &str, buffer: u64, drops: u64) {
    let host = facts(case, "head1");
    host.sysctls
        .insert("net.core.rmem_max".to_owned(), rmem_max.to_owned());
    host.corosync = Some(CorosyncFacts {
        pid: 812,
        token: Some(Nanos::from_millis(3_000)),
        stats: [("stats.knet.node2.link0.connected", "1")]
            .map(|(k, v)| (k.to_owned(), v.to_owned()))
            .into(),
    });
    let sockets = case.sockets.get_mut("head1").expect("sockets of head1");
    sockets.push(socket("corosync", "10.77.0.1:5405", buffer, drops));
}

fn not_granted_to_corosync() -> Planted {
    let mut case = clean(&PAIR);
    corosync(&mut case, "212992", 425_984, 0);
    planted_as(
        "buffer-not-granted-corosync",
        case,
        0,
        &["buffer-not-granted"],
    )
}

fn corosync_halved() -> Planted {
    let mut case = clean(&PAIR);
    corosync(&mut case, "4194304", 8_388_608, 0);
    planted_as(
        "corosync-buffer-halved",
        case,
        0,
        &["corosync-buffer-halved"],
    )
}

fn corosync_halved_and_dropping() -> Planted {
    let mut case = clean(&PAIR);
    corosync(&mut case, "4194304", 8_388_608, 90);
    let dropping = socket("corosync", "10.77.0.1:5405", 8_388_608, 17);
    let window = &mut bulk(&mut case).sender_window;
    window.sockets.push(dropping);
    count(window, &[("udp/RcvbufErrors", 17)]);
    planted_as(
        "corosync-buffer-halved-dropping",
        case,
        0,
        &["corosync-buffer-halved"],
    )
}

/// The stock kernel: kronosnet forced its 16 MiB. Nothing to say.
fn corosync_forced() -> Planted {
    let mut case = clean(&PAIR);
    corosync(&mut case, "212992", 16_777_216, 0);
    planted_as("corosync-buffer-forced", case, 0, &[])
}

fn foreign_socket() -> Planted {
    let mut case = clean(&PAIR);
    let window = &mut bulk(&mut case).receiver_window;
    window
        .sockets
        .push(socket("feedd", "239.1.2.3:7000", 212_992, 2_417));
    count(
        window,
        &[("udp/RcvbufErrors", 2_417), ("udp/InErrors", 2_417)],
    );
    event(
        window,
        DropSubject::Other,
        DropScope::ThisHost,
        "SOCKET_RCVBUFF",
        "__udp_enqueue_schedule_skb",
        2_417,
    );
    planted_as(
        "foreign-socket-dropping",
        case,
        0,
        &["foreign-socket-dropping"],
    )
}

fn foreign_socket_stopped() -> Planted {
    let mut case = clean(&PAIR);
    let window = &mut bulk(&mut case).receiver_window;
    let mut stopped = socket("feedd", "239.1.2.3:7000", 212_992, 900);
    stopped.receive_queued = Bytes(212_400);
    window.sockets.push(stopped);
    count(window, &[("udp/RcvbufErrors", 900)]);
    planted_as(
        "foreign-socket-stopped",
        case,
        0,
        &["foreign-socket-dropping"],
    )
}

fn memory() -> Planted {
    let mut case = clean(&PAIR);
    let phase = bulk(&mut case);
    lose_in_runs(phase, 600, 12);
    phase.receiver.socket_drops = Packets(600);
    let subject = flow(phase);
    let window = &mut phase.receiver_window;
    count(window, &[("udp/MemErrors", 600), ("udp/InErrors", 600)]);
    own_event(
        window,
        subject,
        "PROTO_MEM",
        "__udp_enqueue_schedule_skb",
        600,
    );
    planted_as("udp-memory-pressure", case, 600, &["udp-memory-pressure"])
}

fn memory_of_others() -> Planted {
    let mut case = clean(&PAIR);
    let window = &mut bulk(&mut case).receiver_window;
    window
        .sockets
        .push(socket("feedd", "239.1.2.3:7000", 67_108_864, 310));
    count(window, &[("udp/MemErrors", 310), ("udp/InErrors", 310)]);
    planted_as(
        "udp-memory-pressure-foreign",
        case,
        0,
        &["udp-memory-pressure"],
    )
}

fn send_refused() -> Planted {
    let mut case = clean(&PAIR);
    let phase = bulk(&mut case);
    phase
        .sender
        .refused
        .insert("EAGAIN".to_owned(), Packets(120));
    lose_in_runs(phase, 120, 6);
    not_sent(phase, 120);
    planted_as("send-refused", case, 120, &["send-refused"])
}

fn no_listener() -> Planted {
    let mut case = clean(&PAIR);
    let phase = bulk(&mut case);
    lose_in_runs(phase, 10_000, 10_000);
    let subject = flow(phase);
    let window = &mut phase.receiver_window;
    count(window, &[("udp/NoPorts", 10_000)]);
    own_event(window, subject, "NO_SOCKET", "__udp4_lib_rcv", 10_000);
    planted_as("no-listener", case, 10_000, &["no-listener"])
}
