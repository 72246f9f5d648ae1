//! Whatever a case file says, the account balances and accuses nobody beyond the loss.

use hawser_account::{explain, findings, packets_account};
use hawser_cases::read;
use hawser_model::account::{Account, Basis, Layer};
use hawser_model::case::{Case, Phase, PhaseKind};
use hawser_model::drops::{DropRecord, DropScope, DropSubject, TapRecord};
use hawser_model::host::HostWindow;
use hawser_model::names::InterfaceName;
use hawser_model::probe::PathMtu;
use hawser_model::traffic::{Batching, FlowId};
use hawser_model::units::{Bytes, Mtu, Nanos, Packets};
use proptest::prelude::*;

const REASONS: [(&str, &str); 16] = [
    ("SOCKET_RCVBUFF", "__udp_enqueue_schedule_skb"),
    ("PROTO_MEM", "__udp_enqueue_schedule_skb"),
    ("UDP_CSUM", "__first_packet_length"),
    ("QDISC_OVERLIMIT", "__dev_queue_xmit"),
    ("NETFILTER_DROP", "nf_hook_slow"),
    ("CPU_BACKLOG", "enqueue_to_backlog"),
    ("NEIGH_QUEUEFULL", "__neigh_event_send"),
    ("IP_RPFILTER", "ip_rcv_finish_core"),
    ("FRAG_REASM_TIMEOUT", "inet_frag_rbtree_purge"),
    ("NO_SOCKET", "__udp4_lib_rcv"),
    ("TC_INGRESS", "__netif_receive_skb_core"),
    ("TC_EGRESS", "__dev_queue_xmit"),
    ("NOT_SPECIFIED", "veth_xmit"),
    ("NOT_SPECIFIED", "br_handle_frame_finish"),
    ("NOT_SPECIFIED", ""),
    ("SOMETHING_NEWER", "somewhere"),
];

const COUNTERS: [&str; 28] = [
    "udp/RcvbufErrors",
    "udp/MemErrors",
    "udp/InCsumErrors",
    "udp/NoPorts",
    "udp/SndbufErrors",
    "ip/OutDiscards",
    "ip/OutNoRoutes",
    "ip/FragFails",
    "ip/FragCreates",
    "ip/ReasmFails",
    "ip/ReasmOKs",
    "ip/InHdrErrors",
    "ip/InAddrErrors",
    "ipext/InCsumErrors",
    "tcpext/IPReversePathFilter",
    "frag/inuse",
    "softnet/0/dropped",
    "link/ring0/rx_dropped",
    "link/ring0/tx_dropped",
    "link/ring0/rx_packets",
    "link/ring0/tx_packets",
    "link/ring0/rx_crc_errors",
    "driver/ring0/rx_missed_errors",
    "qdisc/ring0/8001:/tbf/drops",
    "qdisc/ring0/ffff:/clsact/drops",
    "nft/inet/filter/input/4/drops",
    "neigh/arp_cache/unresolved_discards",
    "conntrack/drop",
];

const ERRORS: [&str; 6] = [
    "EPERM",
    "EMSGSIZE",
    "ENOBUFS",
    "EHOSTUNREACH",
    "ECONNREFUSED",
    "EWHATEVER",
];

/// Mostly small numbers that can fit together, sometimes absurd ones.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![
        3 => Just(0u64),
        6 => 0..200u64,
        2 => 0..20_000u64,
        1 => any::<u64>(),
    ]
}

fn drop_record(flow: FlowId) -> impl Strategy<Value = DropRecord> {
    let subject = prop_oneof![
        4 => Just(DropSubject::Flow(flow)),
        1 => Just(DropSubject::FlowFragment(flow)),
        1 => Just(DropSubject::FlowEcho(flow)),
        2 => Just(DropSubject::Other),
        1 => Just(DropSubject::Flow(FlowId(9_999))),
    ];
    let scope = prop_oneof![3 => Just(DropScope::ThisHost), 1 => Just(DropScope::Unknown)];
    (0..REASONS.len(), subject, scope, any::<bool>(), number()).prop_map(
        |(reason, subject, scope, on_interface, packets)| DropRecord {
            reason: REASONS[reason].0.to_owned(),
            location: REASONS[reason].1.to_owned(),
            scope,
            interface: on_interface.then(|| InterfaceName::from("ring0")),
            subject,
            packets: Packets(packets),
        },
    )
}

#[derive(Clone, Debug)]
struct Window {
    counters: Vec<(usize, u64)>,
    drops: Option<Vec<DropRecord>>,
    missed: u64,
    tap: Option<(u64, u64, u64)>,
}

fn window(flow: FlowId) -> impl Strategy<Value = Window> {
    (
        prop::collection::vec((0..COUNTERS.len(), number()), 0..8),
        prop::option::of(prop::collection::vec(drop_record(flow), 0..5)),
        number(),
        prop::option::of((0..300u64, number(), number())),
    )
        .prop_map(|(counters, drops, missed, tap)| Window {
            counters,
            drops,
            missed,
            tap,
        })
}

#[derive(Clone, Debug)]
struct Mess {
    sent: u64,
    received: u64,
    numbers: [u64; 8],
    refused: Vec<(usize, u64)>,
    runs: Vec<(u64, u64)>,
    windows: [Window; 2],
    segment: bool,
    path_mtu: (Option<u32>, Option<u32>, Option<u32>),
}

fn mess(flow: FlowId) -> impl Strategy<Value = Mess> {
    (
        prop_oneof![9 => 0..300u64, 1 => any::<u64>()],
        prop_oneof![9 => 0..300u64, 1 => any::<u64>()],
        prop::array::uniform8(number()),
        prop::collection::vec((0..ERRORS.len(), number()), 0..3),
        prop::collection::vec((number(), number()), 0..3),
        [window(flow), window(flow)],
        any::<bool>(),
        (
            prop::option::of(0..9_001u32),
            prop::option::of(0..9_001u32),
            prop::option::of(0..9_001u32),
        ),
    )
        .prop_map(
            |(sent, received, numbers, refused, runs, windows, segment, path_mtu)| Mess {
                sent,
                received,
                numbers,
                refused,
                runs,
                windows,
                segment,
                path_mtu,
            },
        )
}

fn fill(into: &mut HostWindow, from: &Window) {
    into.counters.0 = from
        .counters
        .iter()
        .map(|(name, n)| (COUNTERS[*name].to_owned(), *n))
        .collect();
    into.drops = from.drops.clone();
    into.drops_missed = from.missed;
    let record: Option<TapRecord> = into.taps.iter().flatten().next().cloned();
    into.taps = from.tap.map(|(packets, damaged, later)| {
        let mut tap = record.expect("a clean case has taps");
        tap.packets = Packets(packets);
        tap.damaged = Packets(damaged);
        tap.later_fragments = Packets(later);
        vec![tap]
    });
}

fn apply(phase: &mut Phase, mess: &Mess) {
    phase.sender.sent = Packets(mess.sent);
    phase.sender.refused = mess
        .refused
        .iter()
        .map(|(e, n)| (ERRORS[*e].to_owned(), Packets(*n)))
        .collect();
    let [
        duplicates,
        reordered,
        corrupted,
        drops,
        busy,
        memory,
        asked,
        echoed,
    ] = mess.numbers;
    phase.sender.echoed_back = Packets(echoed / 2);
    let report = &mut phase.receiver;
    report.received = Packets(mess.received);
    report.duplicates = Packets(duplicates);
    report.reordered = Packets(reordered);
    report.corrupted = Packets(corrupted);
    report.socket_drops = Packets(drops);
    report.drain.busy = Nanos(busy);
    report.drain.idle = Nanos(memory);
    report.packet_memory = Some(Bytes(memory));
    report.buffer_asked = Some(Bytes(asked));
    report.echoed = Packets(echoed);
    report.loss_runs_by_length = mess.runs.iter().copied().collect();
    phase.spec.batching = if mess.segment {
        Batching::Segment
    } else {
        Batching::Mmsg
    };
    fill(&mut phase.sender_window, &mess.windows[0]);
    fill(&mut phase.receiver_window, &mess.windows[1]);
}

/// A cluster of two or three hosts, every phase of it filled with anything.
fn messy_case() -> impl Strategy<Value = Case> {
    let bases = ["bases/heads", "bases/three-heads-ipv6"].map(read::<Case>);
    prop::sample::select(bases.to_vec()).prop_flat_map(|case| {
        let flows = case
            .measurements
            .iter()
            .flat_map(|m| &m.phases)
            .map(|p| mess(p.spec.flow))
            .collect::<Vec<_>>();
        flows.prop_map(move |messes| {
            let mut case = case.clone();
            let mut messes = messes.iter();
            for m in &mut case.measurements {
                for phase in &mut m.phases {
                    let mess = messes.next().expect("a mess for each phase");
                    apply(phase, mess);
                    let (passed, silent, told) = mess.path_mtu;
                    m.path_mtu = Some(PathMtu {
                        source: phase.spec.source,
                        destination: phase.spec.destination,
                        interface_mtu: Mtu(1_500),
                        passed: passed.map(Mtu),
                        silent: silent.map(Mtu),
                        denied: false,
                        told: told.map(Mtu),
                        told_by: None,
                        vanishes: None,
                        holes: None,
                    });
                }
            }
            case
        })
    })
}

fn sound(account: &Account) -> Result<(), TestCaseError> {
    prop_assert!(account.balances());
    prop_assert!(account.attributed <= account.lost);
    prop_assert!(account.received <= account.sent);
    prop_assert!(account.layers.iter().all(|l| l.packets.0 > 0));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn every_account_balances(case in messy_case()) {
        let packets = packets_account(&case);
        sound(&packets.total)?;
        let mut lost = 0;
        for flow in &packets.flows {
            sound(&flow.account)?;
            lost += flow.account.lost.0;
        }
        prop_assert_eq!(lost, packets.total.lost.0);
        let in_lines: u64 = packets.flows.iter().flat_map(|f| &f.account.layers).map(|l| l.packets.0).sum();
        prop_assert_eq!(in_lines, packets.total.attributed.0);
    }

    #[test]
    fn between_the_hosts_is_booked_only_on_evidence_of_both(case in messy_case()) {
        let blind = |w: &HostWindow, field: &str| {
            w.taps.is_none() && w.counters.under("link/").all(|(n, _)| !n.ends_with(field))
        };
        for m in &case.measurements {
            if m.phases.iter().all(|p| blind(&p.sender_window, "/tx_packets")) {
                let mut one = case.clone();
                one.measurements = vec![m.clone()];
                let layers = packets_account(&one).total.layers;
                prop_assert!(layers.iter().all(|l| l.layer != Layer::BetweenHosts));
            }
        }
    }

    #[test]
    fn findings_and_words_never_fail_and_are_in_order(case in messy_case()) {
        let packets = packets_account(&case);
        let found = findings(&case, &packets);
        for pair in found.windows(2) {
            prop_assert!(pair[0].severity >= pair[1].severity);
        }
        let explained = explain(&case);
        prop_assert_eq!(explained.findings.len(), found.len());
        for worded in &explained.findings {
            prop_assert!(worded.text.len() > 20 && worded.fix.len() > 10);
        }
        prop_assert_eq!(&explained, &explain(&case));
    }

    #[test]
    fn what_is_lost_has_a_finding_and_what_is_not_has_no_loss(case in messy_case()) {
        let packets = packets_account(&case);
        let found = findings(&case, &packets);
        let told: u64 = found
            .iter()
            .filter_map(|f| f.evidence.get("lost_packets").or(f.evidence.get("unattributed_packets")))
            .filter_map(|n| n.as_u64())
            .sum();
        if packets.total.lost.0 > 0 {
            prop_assert!(told > 0, "{} lost, none told", packets.total.lost);
        }
    }

    #[test]
    fn more_own_evidence_never_leaves_more_open(case in messy_case(), extra in 1..50u64) {
        // One more drop event of the flow on the receiver, in a case whose other evidence of
        // that host is nothing but events.
        let mut one = case.clone();
        one.measurements.truncate(1);
        one.measurements[0].phases.truncate(1);
        let phase = &mut one.measurements[0].phases[0];
        for window in [&mut phase.sender_window, &mut phase.receiver_window] {
            window.counters.0.clear();
            window.drops.get_or_insert_default();
        }
        let before = packets_account(&one).total;
        let flow = one.measurements[0].phases[0].spec.flow;
        let window = &mut one.measurements[0].phases[0].receiver_window;
        window.drops.get_or_insert_default().push(DropRecord {
            reason: "NETFILTER_DROP".to_owned(),
            location: "nf_hook_slow".to_owned(),
            scope: DropScope::ThisHost,
            interface: None,
            subject: DropSubject::Flow(flow),
            packets: Packets(extra),
        });
        let after = packets_account(&one).total;
        prop_assert_eq!(before.lost, after.lost);
        prop_assert!(after.unattributed <= before.unattributed);
    }

    #[test]
    fn a_clean_flow_stays_clean_whatever_others_do(
        counters in prop::collection::vec((0..COUNTERS.len(), number()), 0..12),
        drops in prop::collection::vec(drop_record(FlowId(9_999)), 0..6),
        mut case in Just(read::<Case>("bases/pair")),
    ) {
        let mut phases = case.measurements[0].phases.iter_mut();
        let bulk = phases.find(|phase| phase.kind == PhaseKind::Bulk).expect("a bulk");
        let window = &mut bulk.receiver_window;
        for (name, n) in counters {
            // What our own taps and reports contradict is not noise.
            if COUNTERS[name] != "ip/ReasmOKs" {
                window.counters.0.insert(COUNTERS[name].to_owned(), n);
            }
        }
        window.drops = Some(drops);
        let answer = explain(&case);
        prop_assert_eq!(answer.packets.total.lost, Packets(0));
        prop_assert!(answer.packets.total.layers.is_empty());
        prop_assert!(answer.findings.is_empty(), "{:?}", answer.findings);
    }
}

#[test]
fn the_weakest_basis_stands_for_a_line_of_several() {
    assert!(Basis::OwnSocket < Basis::PerFlow && Basis::PerFlow < Basis::Counter);
}
