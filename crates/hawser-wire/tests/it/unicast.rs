//! A flow between two hosts on a cable that loses nothing.

use crate::common::{self, flow, flow_v6, measure, pair, unhindered};
use hawser_model::traffic::{Batching, FlowSpec, Rate, ReceiverReport, SenderReport};
use hawser_model::units::{Bytes, Nanos, Packets, PacketsPerSec};

#[track_caller]
fn all_arrived((sent, received): (SenderReport, ReceiverReport), packets: u64) {
    // A sender that a busy machine makes late gives up what it is behind.
    assert!(
        sent.sent.0 <= packets && sent.sent.0 > packets / 10,
        "{sent:?}"
    );
    assert!(sent.refused.is_empty(), "{:?}", sent.refused);
    assert_eq!(received.received, sent.sent, "{received:?}");
    assert!(received.loss_runs_by_length.is_empty(), "{received:?}");
    for zero in [
        received.duplicates,
        received.reordered,
        received.corrupted,
        received.foreign,
        received.socket_drops,
    ] {
        assert_eq!(zero, Packets::ZERO, "{received:?}");
    }
}

#[test]
fn every_packet_arrives_over_ipv4_and_ipv6() {
    let (a, b) = pair();
    for spec in [flow(), flow_v6()] {
        let Some(measured) = unhindered(|| measure(&a, &b, &spec)) else {
            return;
        };
        all_arrived(measured, 200);
    }
}

#[test]
fn a_paced_flow_reaches_its_rate_and_a_quiet_path_has_little_jitter() {
    let (a, b) = pair();
    let Some((sent, received)) = unhindered(|| measure(&a, &b, &flow())) else {
        return;
    };
    let achieved = sent.achieved().unwrap();
    // Never faster; slower by what a busy machine holds the sender up, as the longest gap below.
    assert!((550..=1_050).contains(&achieved.0), "{achieved}");
    assert!(received.jitter.p50 < Nanos::from_millis(1), "{received:?}");
    assert!(received.longest_gap < Nanos::from_millis(150));
    // One packet in the queue at a time: what it takes there is known exactly, and is at
    // least its bytes and the kernel's own structure.
    assert!(
        received.packet_memory.unwrap() > Bytes(200 + 28 + 200),
        "{received:?}"
    );
    assert!(received.drain.idle > received.drain.busy, "{received:?}");
}

#[test]
fn bursts_and_a_partial_last_one_arrive_whole() {
    let (a, b) = pair();
    let spec = FlowSpec {
        burst: 64,
        rate: Rate::PerSecond(PacketsPerSec(10_000)),
        ..flow()
    };
    if let Some(measured) = unhindered(|| measure(&a, &b, &spec)) {
        all_arrived(measured, 2_000);
    }
}

#[test]
fn segments_cut_by_the_kernel_are_packets_like_all_others() {
    let (a, b) = pair();
    // Cut before the wire, as a real NIC would: FACTS of veth, which passes them uncut.
    a.sh("ethtool -K ring0 tx-udp-segmentation off");
    b.sh("ethtool -K ring0 gro on");
    for base in [flow(), flow_v6()] {
        let spec = FlowSpec {
            burst: 100,
            payload: 1_400,
            rate: Rate::PerSecond(PacketsPerSec(10_000)),
            batching: Batching::Segment,
            receive_buffer: Some(Bytes(1 << 20)),
            ..base
        };
        let before = received_frames(&b);
        let Some((sent, received)) = unhindered(|| measure(&a, &b, &spec)) else {
            return;
        };
        let frames = received_frames(&b) - before;
        let packets = sent.sent.0;
        all_arrived((sent, received), 2_000);
        // One frame a packet, and a few of neighbour discovery.
        assert!((packets..packets + 10).contains(&frames), "{frames} frames");
    }
}

fn received_frames(host: &common::Host) -> u64 {
    let link = host.sh("ip -s -j link show ring0");
    let link: serde_json::Value = serde_json::from_str(&link).unwrap();
    link[0]["stats64"]["rx"]["packets"].as_u64().unwrap()
}

#[test]
fn as_fast_as_possible_every_packet_is_received_or_dropped_by_the_socket() {
    let (a, b) = pair();
    let spec = FlowSpec {
        rate: Rate::Max,
        ..flow()
    };
    let (sent, received) = measure(&a, &b, &spec);
    assert_eq!(
        received.received + received.socket_drops,
        sent.sent,
        "{received:?}"
    );
}
