//! Streams that stay fast, that nearly stop, and that are held to a rate.

use hawser_model::case::{Case, Phase, PhaseKind};
use hawser_model::host::{BridgeFacts, HostWindow, Interface};
use hawser_model::traffic::{
    Drain, FlowId, FlowSpec, Rate, ReceiverReport, SenderReport, StreamState, Transport,
};
use hawser_model::units::{BitsPerSec, Bytes, Nanos, Packets};

use super::{Planted, planted_as};
use crate::support::cluster::*;
use crate::support::faults::*;

pub fn planted() -> Vec<Planted> {
    vec![
        steady(),
        merging(),
        hardware_merging(),
        policer(),
        shaper(),
        bond(),
        forwarder(),
    ]
}

/// Bytes of a segment at MTU 1500 with timestamps.
const SEGMENT: u64 = 1_448;

/// A stream of three seconds from head1 to head2, by its rates in slices of 50 ms: so many MB/s for
/// so many slices.
fn stream(rates: &[(u64, usize)], retransmits: u64, arrived: u64) -> Phase {
    let slices: Vec<Bytes> = rates
        .iter()
        .flat_map(|(mb, count)| vec![Bytes(mb * 50_000); *count])
        .collect();
    let bytes: u64 = slices.iter().map(|b| b.0).sum();
    let segments = bytes / SEGMENT + retransmits;
    let duration = Nanos::from_millis(3_000);
    let window = |name: &str, value| {
        let mut window = HostWindow {
            elapsed: duration,
            ..HostWindow::default()
        };
        count(&mut window, &[(name, value)]);
        window
    };
    Phase {
        kind: PhaseKind::Stream,
        spec: FlowSpec {
            flow: FlowId(77),
            transport: Transport::Tcp,
            payload: 131_072,
            rate: Rate::Max,
            burst: 1,
            duration,
            dont_fragment: true,
            realtime: false,
            ..bulk(&mut clean(&PAIR)).spec.clone()
        },
        port: 40_077,
        sender: SenderReport {
            sent: Packets(bytes / 131_072),
            elapsed: duration,
            stream_bytes: Bytes(bytes),
            stream: Some(StreamState {
                congestion: "cubic".to_owned(),
                segment: Bytes(SEGMENT),
                round_trip: Nanos(200_000),
                congestion_window: Bytes(2 * SEGMENT),
                segments: Packets(segments),
                retransmits: Packets(retransmits),
                ..StreamState::default()
            }),
            ..SenderReport::default()
        },
        receiver: ReceiverReport {
            received: Packets(bytes / 131_072),
            elapsed: duration,
            drain: Drain {
                busy: Nanos::from_millis(150),
                idle: Nanos::from_millis(2_850),
                waits: 900,
            },
            stream_bytes: Bytes(bytes),
            slices,
            ..ReceiverReport::default()
        },
        sender_window: window("link/ring0/tx_packets", segments),
        receiver_window: window("link/ring0/rx_packets", segments * arrived / 100),
    }
}

/// The case with the stream into a head2 whose interface has these features.
fn case(stream: Phase, features: &[&str]) -> Case {
    let mut case = clean(&PAIR);
    interface(&mut case, "head2", "ring0").features_on =
        features.iter().map(|f| (*f).to_owned()).collect();
    case.measurements[0].phases.push(stream);
    case
}

/// A slow start, then what the link carries, in spite of GRO.
fn steady() -> Planted {
    let stream = stream(&[(400, 1), (1_000, 59)], 12, 100);
    planted_as("stream-steady", case(stream, &["rx-gro"]), 0, &[])
}

/// What the lab's planted fault looks like: everything arrives, and merged segments go no further.
fn merging() -> Planted {
    let stream = stream(&[(500, 4)], 180, 100);
    planted_as(
        "stream-merging-stall",
        case(stream, &["rx-checksum", "rx-gro"]),
        0,
        &["receive-merging-stall"],
    )
}

/// The original: 100 MB at 68 MB/s, then some hundred kilobytes a second, with a NIC that counts
/// what it has merged. The rates are those that were reported; a run on such a card was not made.
fn hardware_merging() -> Planted {
    let slow = [(0, 3), (1, 1), (0, 5), (2, 1), (0, 7), (1, 1), (0, 4)];
    let rates: Vec<(u64, usize)> = [(68, 30)].into_iter().chain(slow).collect();
    let mut case = case(stream(&rates, 320, 8), &["rx-gro", "rx-lro"]);
    interface(&mut case, "head2", "ring0").driver = Some("bnx2x".to_owned());
    planted_as("stream-lro-stall", case, 0, &["receive-merging-stall"])
}

/// Looks alike and is not: what is over the rate never arrives, and the rate that is left is steady.
fn policer() -> Planted {
    let stream = stream(&[(1_000, 4), (12, 20), (13, 36)], 2_100, 98);
    let case = case(stream, &["rx-gro", "rx-lro"]);
    planted_as("stream-policer", case, 0, &["rate-after-burst"])
}

/// The same with a queue: nothing is lost.
fn shaper() -> Planted {
    let stream = stream(&[(1_000, 4), (12, 20), (13, 36)], 0, 100);
    let case = case(stream, &["rx-gro"]);
    planted_as("stream-shaper", case, 0, &["rate-after-burst"])
}

/// A stream that fills one of two members of a bond.
fn bond() -> Planted {
    let mut stream = stream(&[(118, 60)], 0, 100);
    let sent = stream
        .sender_window
        .counters
        .or_zero("link/ring0/tx_packets");
    count(
        &mut stream.sender_window,
        &[("link/eth0/tx_packets", sent), ("link/eth1/tx_packets", 40)],
    );
    let mut case = case(stream, &["rx-gro"]);
    let member = Interface {
        speed: Some(BitsPerSec(1_000_000_000)),
        addresses: Vec::new(),
        ..interface(&mut case, "head1", "ring0").clone()
    };
    let bond = interface(&mut case, "head1", "ring0");
    bond.lower = vec!["eth0".into(), "eth1".into()];
    bond.driver = Some("bonding".to_owned());
    for name in ["eth0", "eth1"] {
        let interfaces = &mut facts(&mut case, "head1").interfaces;
        interfaces.insert(name.into(), member.clone());
    }
    planted_as("bond-one-member", case, 0, &["bond-one-member"])
}

/// A virtualisation host whose bridge has the address, and its port LRO.
fn forwarder() -> Planted {
    let mut case = clean(&PAIR);
    let port = Interface {
        addresses: Vec::new(),
        driver: Some("bnx2x".to_owned()),
        features_on: vec!["rx-gro".to_owned(), "rx-lro".to_owned()],
        ..interface(&mut case, "head2", "ring0").clone()
    };
    let bridge = interface(&mut case, "head2", "ring0");
    bridge.lower = vec!["eth0".into()];
    bridge.driver = Some("bridge".to_owned());
    let head2 = facts(&mut case, "head2");
    head2.interfaces.insert("eth0".into(), port);
    head2.bridges.insert("ring0".into(), BridgeFacts::default());
    planted_as("lro-on-forwarder", case, 0, &["lro-on-forwarder"])
}
