//! Round trips, and how measuring threads are scheduled.

use crate::common::{self, flow, flow_v6, measure, pair, unhindered};
use hawser_model::traffic::FlowSpec;
use hawser_model::units::{Nanos, Packets};

#[test]
fn every_packet_comes_back_and_its_round_trip_is_known() {
    let (a, b) = pair();
    for base in [flow(), flow_v6()] {
        let spec = FlowSpec { echo: true, ..base };
        let Some((sent, received)) = unhindered(|| measure(&a, &b, &spec)) else {
            return;
        };
        assert_eq!(received.received, sent.sent);
        assert_eq!(received.echoed, sent.sent);
        assert_eq!(sent.echoed_back, sent.sent);
        let times = sent.round_trip.unwrap();
        assert_eq!(times.count, sent.sent.0);
        assert!(times.min > Nanos(1_000), "{times:?}");
        assert!(times.min <= times.p50 && times.p50 <= times.p99 && times.p99 <= times.max);
        assert!(times.p50 < Nanos::from_millis(5), "{times:?}");
    }
}

#[test]
fn echoes_lost_on_the_way_back_do_not_hold_the_sender() {
    let (a, b) = pair();
    b.sh("nft add table ip t
        nft 'add chain ip t out { type filter hook output priority 0; }'
        nft add rule ip t out meta l4proto udp numgen inc mod 2 == 0 drop");
    let spec = FlowSpec {
        echo: true,
        ..flow()
    };
    let began = std::time::Instant::now();
    let Some((sent, received)) = unhindered(|| measure(&a, &b, &spec)) else {
        return;
    };
    assert!(began.elapsed().as_secs() < 3);
    assert_eq!(received.received, sent.sent);
    assert_eq!(received.echoed, sent.echoed_back);
    let half = sent.sent.0 / 2;
    assert!(
        (half - 1..=half + 1).contains(&sent.echoed_back.0),
        "{sent:?}"
    );
}

#[test]
fn echo_with_nobody_there_ends_and_counts() {
    let (a, _b) = pair();
    let spec = FlowSpec {
        echo: true,
        ..flow()
    };
    let sent = common::send(&a, &spec, 9);
    assert_eq!(sent.echoed_back, Packets::ZERO);
    assert_eq!(sent.round_trip.unwrap().count, 0);
}

#[test]
fn realtime_and_a_pinned_cpu_are_granted_to_root_or_reported() {
    let (a, b) = pair();
    let spec = FlowSpec {
        realtime: true,
        sender_cpu: Some(0),
        receiver_cpu: Some(4_000_000),
        ..flow()
    };
    let (sent, received) = measure(&a, &b, &spec);
    assert_eq!(received.received, sent.sent);
    assert!(!sent.not_granted.contains_key("cpu"), "{sent:?}");
    assert_eq!(received.not_granted["cpu"], "EINVAL");
    // Root may, unless a control group has no real-time budget (EPERM): then it is told.
    let granted = sent
        .not_granted
        .get("SCHED_RR")
        .is_none_or(|e| e == "EPERM");
    assert!(granted, "{sent:?}");
}
