//! What a host drops outside the socket.

use hawser_model::case::{Case, Phase};
use hawser_model::drops::{DropScope, DropSubject};
use hawser_model::ladder::ProcessorTime;
use hawser_model::units::{Nanos, Packets};

use super::{Planted, planted_as};
use crate::support::cluster::*;
use crate::support::faults::*;

pub fn planted() -> Vec<Planted> {
    vec![
        conntrack(),
        pauses(),
        filter_in(),
        filter_out(),
        filter_counters_only(),
        reverse_path(),
        neighbour(),
        queue(),
        queue_counters_only(),
        tc_ingress(),
        tc_egress(),
        ring(),
        veth_ring(),
        damaged_frames(),
        carrier_errors(),
        backlog(),
        backlog_three_times(),
        backlog_first_hop(),
        one_core(),
        one_core_of_a_card(),
        every_core(),
        short_queue(),
        not_our_address(),
        no_route(),
        reassembly_memory(),
        reassembly_counters_only(),
        later_fragments_filtered(),
    ]
}

fn filter_in() -> Planted {
    let mut case = clean(&PAIR);
    input_filter(bulk(&mut case), 1_000);
    planted_as("firewall-drop-input", case, 1_000, &["firewall-drop"])
}

/// In OUTPUT the sender gets EPERM, and the same packets have an event and a rule's counter.
fn filter_out() -> Planted {
    let mut case = clean(&PAIR);
    let phase = bulk(&mut case);
    phase
        .sender
        .refused
        .insert("EPERM".to_owned(), Packets(2_500));
    lose(phase, 2_500);
    not_sent(phase, 2_500);
    let subject = flow(phase);
    let window = &mut phase.sender_window;
    count(
        window,
        &[
            ("nft/ip/guard/out/7/packets", 2_500),
            ("nft/ip/guard/out/7/drops", 2_500),
        ],
    );
    own_event(window, subject, "NETFILTER_DROP", "nf_hook_slow", 2_500);
    planted_as("firewall-drop-output", case, 2_500, &["firewall-drop"])
}

/// An accepting rule counted more than the dropping one; only the latter is evidence.
fn filter_counters_only() -> Planted {
    let mut case = clean(&PAIR);
    let phase = bulk(&mut case);
    input_filter(phase, 1_000);
    count(
        &mut phase.receiver_window,
        &[("nft/inet/filter/input/3/packets", 10_060)],
    );
    without_ebpf(&mut case);
    planted_as("counters-only-firewall", case, 1_000, &["firewall-drop"])
}

fn reverse_path() -> Planted {
    let mut case = clean(&PAIR);
    facts(&mut case, "head2")
        .sysctls
        .insert("net.ipv4.conf.all.rp_filter".to_owned(), "1".to_owned());
    for kind in [Heartbeat, Bulk] {
        let phase = phase_of(&mut case, "head1", "head2", "ring0", kind);
        let n = phase.sender.sent.0;
        lose_in_runs(phase, n, n);
        let subject = flow(phase);
        let window = &mut phase.receiver_window;
        count(window, &[("tcpext/IPReversePathFilter", n)]);
        own_event(window, subject, "IP_RPFILTER", "ip_rcv_finish_core", n);
    }
    planted_as(
        "reverse-path-filter",
        case,
        10_075,
        &["reverse-path-filter"],
    )
}

/// ARP from head1 to head2 stays unanswered; the other way works. The last packets are still
/// queued when the window closes.
fn neighbour() -> Planted {
    let mut case = clean(&PAIR);
    for (kind, dropped) in [(Heartbeat, 0), (Bulk, 9_908)] {
        let phase = phase_of(&mut case, "head1", "head2", "ring0", kind);
        let n = phase.sender.sent.0;
        lose_in_runs(phase, n, n);
        not_sent(phase, n);
        let subject = flow(phase);
        if dropped > 0 {
            let window = &mut phase.sender_window;
            own_event(
                window,
                subject,
                "NEIGH_QUEUEFULL",
                "__neigh_event_send",
                dropped,
            );
        }
    }
    planted_as(
        "neighbour-unresolved",
        case,
        10_075,
        &["neighbour-unresolved"],
    )
}

fn queue() -> Planted {
    let mut case = clean(&PAIR);
    queue_overflow(bulk(&mut case), 5_000, 5_000);
    planted_as("sender-queue-drops", case, 5_000, &["sender-queue-drops"])
}

fn queue_counters_only() -> Planted {
    let mut case = clean(&PAIR);
    queue_overflow(bulk(&mut case), 5_000, 5_000);
    without_ebpf(&mut case);
    planted_as("counters-only-queue", case, 5_000, &["sender-queue-drops"])
}

fn tc_ingress() -> Planted {
    let mut case = clean(&PAIR);
    let phase = bulk(&mut case);
    lose(phase, 300);
    let subject = flow(phase);
    let window = &mut phase.receiver_window;
    count(window, &[("qdisc/ring0/ffff:/clsact/drops", 300)]);
    own_event(
        window,
        subject,
        "TC_INGRESS",
        "__netif_receive_skb_core",
        300,
    );
    planted_as("tc-or-xdp-drop", case, 300, &["tc-or-xdp-drop"])
}

fn tc_egress() -> Planted {
    let mut case = clean(&PAIR);
    let phase = bulk(&mut case);
    lose(phase, 300);
    not_sent(phase, 300);
    let subject = flow(phase);
    let window = &mut phase.sender_window;
    count(
        window,
        &[
            ("qdisc/ring0/ffff:/clsact/drops", 300),
            ("udp/SndbufErrors", 300),
        ],
    );
    own_event(window, subject, "TC_EGRESS", "__dev_queue_xmit", 300);
    planted_as("tc-egress-drop", case, 300, &["tc-or-xdp-drop"])
}

/// A real card: the driver counts what found no buffer, per queue and in sum, and the kernel
/// counts it again. No event: the packet never became one.
fn ring() -> Planted {
    let mut case = clean(&PAIR);
    for host in ["head1", "head2"] {
        interface(&mut case, host, "ring0").driver = Some("ixgbe".to_owned());
    }
    let phase = bulk(&mut case);
    wire(phase, 800, 20);
    count(
        &mut phase.receiver_window,
        &[
            ("driver/ring0/rx_missed_errors", 800),
            ("link/ring0/rx_missed_errors", 800),
            ("link/ring0/rx_dropped", 6),
        ],
    );
    planted_as("nic-ring-overflow", case, 800, &["nic-ring-overflow"])
}

fn veth_ring() -> Planted {
    let mut case = clean(&PAIR);
    let phase = bulk(&mut case);
    wire(phase, 800, 20);
    count(&mut phase.sender_window, &[("link/ring0/tx_dropped", 800)]);
    let subject = flow(phase);
    own_event(
        &mut phase.receiver_window,
        subject,
        "NOT_SPECIFIED",
        "veth_xmit",
        800,
    );
    planted_as("nic-ring-overflow-veth", case, 800, &["nic-ring-overflow"])
}

fn damaged_frames() -> Planted {
    let mut case = clean(&PAIR);
    for host in ["head1", "head2"] {
        interface(&mut case, host, "ring0").driver = Some("e1000e".to_owned());
    }
    let phase = bulk(&mut case);
    wire(phase, 45, 1);
    count(
        &mut phase.receiver_window,
        &[
            ("link/ring0/rx_crc_errors", 45),
            ("link/ring0/rx_errors", 45),
        ],
    );
    planted_as("nic-errors", case, 45, &["nic-errors"])
}

fn carrier_errors() -> Planted {
    let mut case = clean(&PAIR);
    for host in ["head1", "head2"] {
        interface(&mut case, host, "ring0").driver = Some("e1000e".to_owned());
    }
    let phase = bulk(&mut case);
    wire(phase, 210, 70);
    count(
        &mut phase.sender_window,
        &[
            ("link/ring0/tx_carrier_errors", 210),
            ("link/ring0/tx_errors", 210),
        ],
    );
    planted_as("nic-errors-transmit", case, 210, &["nic-errors"])
}

fn backlog() -> Planted {
    let mut case = clean(&PAIR);
    let phase = bulk(&mut case);
    backlog_overflow(phase, 2_000, 2_000);
    // A bridge lies between: the sender's own veth dropped nothing.
    phase
        .sender_window
        .counters
        .0
        .remove("link/ring0/tx_dropped");
    planted_as("backlog-overflow", case, 2_000, &["backlog-overflow"])
}

/// A veth pair without a bridge: one loss in three counters, and other traffic in the third.
fn backlog_three_times() -> Planted {
    let mut case = clean(&PAIR);
    let phase = bulk(&mut case);
    backlog_overflow(phase, 2_000, 2_000);
    count(&mut phase.receiver_window, &[("softnet/0/dropped", 450)]);
    without_ebpf(&mut case);
    planted_as(
        "backlog-counted-three-times",
        case,
        2_000,
        &["backlog-overflow"],
    )
}

/// The backlog of the bridge's port: the receiver knows nothing of it, the sender's veth and
/// the machine's softnet counter do.
fn backlog_first_hop() -> Planted {
    let mut case = clean(&PAIR);
    let phase = bulk(&mut case);
    wire(phase, 700, 14);
    count(
        &mut phase.sender_window,
        &[("softnet/1/dropped", 700), ("link/ring0/tx_dropped", 700)],
    );
    count(&mut phase.receiver_window, &[("softnet/1/dropped", 700)]);
    planted_as("backlog-first-hop", case, 700, &["backlog-overflow"])
}

/// What the processors of a phase's receiver did: in per cent of the flow's time, each idle around it.
fn processors(phase: &mut Phase, softirq_and_idle: [(u64, u64); 2]) {
    let flow = phase.sender.elapsed;
    let around = phase.receiver_window.elapsed.saturating_sub(flow);
    let part = |percent: u64| Nanos(flow.0 / 100 * percent);
    let times = softirq_and_idle.map(|(softirq, idle)| ProcessorTime {
        softirq: part(softirq),
        user: part(100 - softirq - idle),
        idle: part(idle) + around,
        ..ProcessorTime::default()
    });
    phase.receiver_window.processors = (0..).zip(times).collect();
}

fn bridged_backlog(case: &mut Case) -> &mut Phase {
    let phase = bulk(case);
    backlog_overflow(phase, 2_000, 2_000);
    phase
        .sender_window
        .counters
        .0
        .remove("link/ring0/tx_dropped");
    phase
}

/// The processor in whose backlog they were lost does nothing but packets; the other one has time.
fn one_core() -> Planted {
    let mut case = clean(&PAIR);
    processors(bridged_backlog(&mut case), [(5, 60), (98, 2)]);
    planted_as("softirq-core", case, 2_000, &["softirq-core-saturated"])
}

/// A card with one queue: what its processor does not fetch in time the ring has no room for.
fn one_core_of_a_card() -> Planted {
    let mut case = clean(&PAIR);
    let phase = bulk(&mut case);
    wire(phase, 500, 25);
    count(
        &mut phase.receiver_window,
        &[("driver/ring0/rx_missed_errors", 500)],
    );
    processors(phase, [(3, 70), (93, 0)]);
    interface(&mut case, "head2", "ring0").driver = Some("igb".to_owned());
    planted_as("softirq-core-ring", case, 500, &["softirq-core-saturated"])
}

/// The other processor has nothing to spare: that one is the limit cannot be told.
fn every_core() -> Planted {
    let mut case = clean(&PAIR);
    processors(bridged_backlog(&mut case), [(10, 8), (98, 2)]);
    planted_as("softirq-core-crowded", case, 2_000, &["backlog-overflow"])
}

/// The processor has time, the queue is too short for a burst.
fn short_queue() -> Planted {
    let mut case = clean(&PAIR);
    processors(bridged_backlog(&mut case), [(5, 60), (20, 75)]);
    planted_as(
        "softirq-core-short-queue",
        case,
        2_000,
        &["backlog-overflow"],
    )
}

fn not_our_address() -> Planted {
    let mut case = clean(&PAIR);
    let phase = bulk(&mut case);
    lose_in_runs(phase, 10_000, 10_000);
    let subject = flow(phase);
    let window = &mut phase.receiver_window;
    count(window, &[("ip/InAddrErrors", 10_000)]);
    own_event(
        window,
        subject,
        "IP_INADDRERRORS",
        "ip_rcv_finish_core",
        10_000,
    );
    planted_as("ip-layer-drop", case, 10_000, &["ip-layer-drop"])
}

fn no_route() -> Planted {
    let mut case = clean(&PAIR);
    for kind in [Heartbeat, Bulk] {
        let phase = phase_of(&mut case, "head1", "head2", "ring0", kind);
        let n = phase.sender.sent.0;
        phase
            .sender
            .refused
            .insert("ENETUNREACH".to_owned(), Packets(n));
        lose_in_runs(phase, n, n);
        not_sent(phase, n);
        count(&mut phase.sender_window, &[("ip/OutNoRoutes", n)]);
    }
    planted_as("ip-layer-no-route", case, 10_075, &["ip-layer-drop"])
}

/// `ipfrag_high_thresh` takes four datagrams: fragments are refused as they come.
fn reassembly_memory() -> Planted {
    let mut case = clean(&BLOCKS);
    facts(&mut case, "head2")
        .sysctls
        .insert("net.ipv4.ipfrag_high_thresh".to_owned(), "16384".to_owned());
    let phase = phase_of(&mut case, "head1", "head2", "ring0", Fragmented);
    lose(phase, 20);
    let id = phase.spec.flow;
    let window = &mut phase.receiver_window;
    count(window, &[("ip/ReasmFails", 120)]);
    for (subject, n) in [
        (DropSubject::Flow(id), 20),
        (DropSubject::FlowFragment(id), 100),
    ] {
        own_event(window, subject, "NOT_SPECIFIED", "ip_defrag", n);
    }
    planted_as("reassembly-memory", case, 20, &["reassembly-failure"])
}

/// Without taps nothing says where the fragments went, only that datagrams wait for them.
fn reassembly_counters_only() -> Planted {
    let mut case = clean(&BLOCKS);
    let phase = phase_of(&mut case, "head1", "head2", "ring0", Fragmented);
    lose(phase, 9);
    count(&mut phase.receiver_window, &[("frag/inuse", 9)]);
    without_ebpf(&mut case);
    planted_as("reassembly-failure", case, 9, &["reassembly-failure"])
}

/// A filter without connection tracking drops later fragments, which carry no port.
fn later_fragments_filtered() -> Planted {
    let mut case = clean(&BLOCKS);
    let phase = phase_of(&mut case, "head1", "head2", "ring0", Fragmented);
    lose_in_runs(phase, 50, 50);
    let subject = DropSubject::FlowFragment(phase.spec.flow);
    let window = &mut phase.receiver_window;
    event(
        window,
        subject,
        DropScope::ThisHost,
        "NETFILTER_DROP",
        "nf_hook_slow",
        250,
    );
    count(window, &[("frag/inuse", 50)]);
    planted_as("firewall-drop-fragments", case, 50, &["firewall-drop"])
}

/// The filter drops what the table of connections refuses; other flows are refused as well.
fn conntrack() -> Planted {
    let mut case = clean(&PAIR);
    facts(&mut case, "head2").sysctls.insert(
        "net.netfilter.nf_conntrack_max".to_owned(),
        "65536".to_owned(),
    );
    let phase = bulk(&mut case);
    lose_in_runs(phase, 3_000, 3_000);
    let subject = flow(phase);
    let window = &mut phase.receiver_window;
    own_event(window, subject, "NETFILTER_DROP", "nf_hook_slow", 3_000);
    count(window, &[("conntrack/drop", 3_120)]);
    planted_as(
        "conntrack-table-full",
        case,
        3_000,
        &["conntrack-table-full"],
    )
}

/// A sender that is told to pause drops in its own queue.
fn pauses() -> Planted {
    let mut case = clean(&PAIR);
    for host in ["head1", "head2"] {
        interface(&mut case, host, "ring0").driver = Some("mlx5_core".to_owned());
    }
    let phase = bulk(&mut case);
    lose_in_runs(phase, 700, 20);
    not_sent(phase, 700);
    let subject = flow(phase);
    let window = &mut phase.sender_window;
    own_event(window, subject, "QDISC_DROP", "__dev_queue_xmit", 700);
    count(
        window,
        &[
            ("driver/ring0/rx_pause_ctrl_phy", 4_210),
            ("qdisc/ring0/8001:/fq_codel/drops", 700),
        ],
    );
    planted_as("pause-storm", case, 700, &["pause-storm"])
}
