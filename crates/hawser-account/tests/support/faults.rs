//! What a fault does to the two reports and the two windows of a phase: the numbers that the
//! kernel was seen to produce for it (the drop table in `docs/account.md`).

use hawser_model::case::{Case, Phase};
use hawser_model::drops::{DropRecord, DropScope, DropSubject};
use hawser_model::host::HostWindow;
use hawser_model::names::InterfaceName;
use hawser_model::sockets::SocketFacts;
use hawser_model::units::{Bytes, Packets};

/// `n` single packets do not reach the program.
pub fn lose(phase: &mut Phase, n: u64) {
    lose_in_runs(phase, n, 1);
}

/// `n` packets in runs of `length` do not reach the program.
pub fn lose_in_runs(phase: &mut Phase, n: u64, length: u64) {
    let report = &mut phase.receiver;
    report.received = report.received - Packets(n);
    let runs = &mut report.loss_runs_by_length;
    *runs.entry(length).or_default() += n / length;
    if n % length > 0 {
        *runs.entry(n % length).or_default() += 1;
    }
    if phase.spec.echo {
        phase.receiver.echoed = phase.receiver.received;
        phase.sender.echoed_back = phase.receiver.received;
    }
}

/// Counters gain.
pub fn count(window: &mut HostWindow, counters: &[(&str, u64)]) {
    for (name, n) in counters {
        *window.counters.0.entry((*name).to_owned()).or_default() += n;
    }
}

fn uncount(window: &mut HostWindow, suffix: &str, n: u64) {
    for (name, value) in &mut window.counters.0 {
        if name.ends_with(suffix) {
            *value -= n.min(*value);
        }
    }
}

fn tap(window: &mut HostWindow, n: u64) {
    for tap in window.taps.iter_mut().flatten() {
        tap.packets = tap.packets - Packets(n);
    }
}

/// The packets did not get to the sender's tap, and so to nothing behind it.
pub fn not_sent(phase: &mut Phase, n: u64) {
    tap(&mut phase.sender_window, n);
    uncount(&mut phase.sender_window, "/tx_packets", n);
    not_arrived(phase, n);
}

/// The packets did not get to the receiver's tap.
pub fn not_arrived(phase: &mut Phase, n: u64) {
    tap(&mut phase.receiver_window, n);
    uncount(&mut phase.receiver_window, "/rx_packets", n);
}

/// The kernel dropped packets of the phase's own flow.
pub fn own_event(window: &mut HostWindow, phase_flow: DropSubject, reason: &str, at: &str, n: u64) {
    event(window, phase_flow, DropScope::ThisHost, reason, at, n);
}

/// The kernel dropped packets.
pub fn event(
    window: &mut HostWindow,
    subject: DropSubject,
    scope: DropScope,
    reason: &str,
    at: &str,
    n: u64,
) {
    if let Some(drops) = &mut window.drops {
        drops.push(DropRecord {
            reason: reason.to_owned(),
            location: at.to_owned(),
            scope,
            interface: (scope == DropScope::ThisHost).then(|| InterfaceName::from("ring0")),
            subject,
            packets: Packets(n),
        });
    }
}

/// The phase's flow as the subject of a drop.
pub fn flow(phase: &Phase) -> DropSubject {
    DropSubject::Flow(phase.spec.flow)
}

/// The receiving socket's buffer is full.
pub fn socket_overflow(phase: &mut Phase, n: u64, run: u64) {
    lose_in_runs(phase, n, run);
    phase.receiver.socket_drops += Packets(n);
    let udp = if phase.spec.source.is_ipv4() {
        "udp"
    } else {
        "udp6"
    };
    let window = &mut phase.receiver_window;
    count(
        window,
        &[
            (format!("{udp}/RcvbufErrors").as_str(), n),
            (format!("{udp}/InErrors").as_str(), n),
        ],
    );
    let subject = flow(phase);
    own_event(
        &mut phase.receiver_window,
        subject,
        "SOCKET_RCVBUFF",
        "__udp_enqueue_schedule_skb",
        n,
    );
}

/// The sender's qdisc is full; `seen` of the drops have an event.
pub fn queue_overflow(phase: &mut Phase, n: u64, seen: u64) {
    lose_in_runs(phase, n, 10);
    not_sent(phase, n);
    let subject = flow(phase);
    let window = &mut phase.sender_window;
    count(
        window,
        &[
            ("qdisc/ring0/8001:/tbf/drops", n),
            ("ip/OutDiscards", n),
            ("udp/SndbufErrors", n),
        ],
    );
    own_event(window, subject, "QDISC_OVERLIMIT", "__dev_queue_xmit", seen);
}

/// The receiver's packet filter drops in its input chain.
pub fn input_filter(phase: &mut Phase, n: u64) {
    lose(phase, n);
    let subject = flow(phase);
    let window = &mut phase.receiver_window;
    count(
        window,
        &[
            ("nft/inet/filter/input/4/packets", n),
            ("nft/inet/filter/input/4/drops", n),
        ],
    );
    own_event(window, subject, "NETFILTER_DROP", "nf_hook_slow", n);
}

/// The wire swallows packets.
pub fn wire(phase: &mut Phase, n: u64, run: u64) {
    lose_in_runs(phase, n, run);
    not_arrived(phase, n);
}

/// The receiver's backlog is full: the same loss in three counters.
pub fn backlog_overflow(phase: &mut Phase, n: u64, seen: u64) {
    lose_in_runs(phase, n, 20);
    not_arrived(phase, n);
    let subject = flow(phase);
    // One machine, so both windows see its softnet counters.
    count(&mut phase.sender_window, &[("softnet/1/dropped", n)]);
    count(&mut phase.sender_window, &[("link/ring0/tx_dropped", n)]);
    let window = &mut phase.receiver_window;
    count(
        window,
        &[("softnet/1/dropped", n), ("link/ring0/rx_dropped", n)],
    );
    own_event(window, subject, "CPU_BACKLOG", "enqueue_to_backlog", seen);
}

/// Another program's socket on a host.
pub fn socket(process: &str, local: &str, buffer: u64, drops: u64) -> SocketFacts {
    SocketFacts {
        inode: 4_711,
        local: local.parse().expect("an address and port"),
        process: Some(process.to_owned()),
        pid: Some(812),
        receive_buffer: Bytes(buffer),
        send_buffer: Bytes(buffer),
        receive_queued: Bytes::ZERO,
        drops: Packets(drops),
    }
}

/// Only counters: no drop events, no taps.
pub fn without_ebpf(case: &mut Case) {
    for phase in case.measurements.iter_mut().flat_map(|m| &mut m.phases) {
        for window in [&mut phase.sender_window, &mut phase.receiver_window] {
            window.drops = None;
            window.taps = None;
        }
    }
    for host in case.hosts.values_mut() {
        for collector in &mut host.collectors {
            collector.unavailable = Some("bpf(BPF_PROG_LOAD): EPERM".to_owned());
        }
    }
}
