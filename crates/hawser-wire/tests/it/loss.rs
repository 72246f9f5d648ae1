//! Planted loss: the receiver's own counters must equal the missing sequence numbers.

use std::time::Duration;

use crate::common::{self, Host, flow, measure, open, pair, send};
use hawser_model::traffic::{FlowSpec, Rate, ReceiverReport, SenderReport};
use hawser_model::units::{Bytes, Nanos, Packets, PacketsPerSec};

fn lost(sent: &SenderReport, received: &ReceiverReport) -> Packets {
    sent.sent - received.received
}

/// The runs of loss are the same loss, told in another way.
#[track_caller]
fn runs_add_up(sent: &SenderReport, received: &ReceiverReport) {
    let runs = &received.loss_runs_by_length;
    let told: u64 = runs.iter().map(|(length, count)| length * count).sum();
    assert_eq!(Packets(told), lost(sent, received));
    let first: u64 = received.first_loss_runs.iter().map(|run| run.length).sum();
    assert!(first <= told);
    if runs.values().sum::<u64>() <= 64 {
        assert_eq!(first, told);
    }
}

/// Bursts of 400 packets of 1 000 bytes, 10 000 a second.
fn bursts() -> FlowSpec {
    FlowSpec {
        payload: 1_000,
        burst: 400,
        rate: Rate::PerSecond(PacketsPerSec(10_000)),
        duration: Nanos::from_millis(400),
        ..flow()
    }
}

#[test]
fn a_buffer_too_small_for_the_burst_drops_exactly_what_is_missing_and_idles_in_between() {
    let (a, b) = pair();
    let spec = FlowSpec {
        receive_buffer: Some(Bytes(4_096)),
        ..bursts()
    };
    let (sent, received) = measure(&a, &b, &spec);
    assert!(received.socket_drops > Packets::ZERO, "{received:?}");
    assert_eq!(received.socket_drops, lost(&sent, &received));
    runs_add_up(&sent, &received);
    // The kernel doubles what is asked for (socket(7)).
    assert_eq!(received.buffer_asked, Some(Bytes(4_096)));
    assert_eq!(received.buffer_granted, Bytes(8_192));
    assert!(
        received.drain.idle.0 > received.drain.busy.0 * 2,
        "{:?}",
        received.drain
    );
    let capacity = received.drain.capacity(received.received).unwrap();
    assert!(capacity.0 > 20_000, "{capacity}");
    // In the middle of bursts, too: more than the packet's 1 028 bytes, less than two of it.
    let memory = received.packet_memory.unwrap();
    assert!((1_028..4_096).contains(&memory.0), "{memory}");
}

#[test]
fn a_reader_slower_than_the_rate_drops_exactly_what_is_missing_and_never_idles() {
    let (a, b) = pair();
    let spec = FlowSpec {
        receive_buffer: Some(Bytes(65_536)),
        reader_delay: Nanos(500_000),
        burst: 1,
        rate: Rate::PerSecond(PacketsPerSec(5_000)),
        ..bursts()
    };
    let (sent, received) = measure(&a, &b, &spec);
    assert!(received.socket_drops > Packets::ZERO, "{received:?}");
    assert_eq!(received.socket_drops, lost(&sent, &received));
    runs_add_up(&sent, &received);
    assert!(
        received.drain.busy.0 > received.drain.idle.0 * 20,
        "{:?}",
        received.drain
    );
    // 500 µs each: 2 000 a second at best.
    let capacity = received.drain.capacity(received.received).unwrap();
    assert!((1_000..=2_000).contains(&capacity.0), "{capacity}");
}

#[test]
fn what_is_queued_when_the_sender_ends_is_read_and_not_lost() {
    let (a, b) = pair();
    // 100 packets at once into a buffer that holds them all, 2 ms of work each.
    let spec = FlowSpec {
        payload: 200,
        burst: 100,
        rate: Rate::PerSecond(PacketsPerSec(1_000)),
        duration: Nanos::from_millis(100),
        reader_delay: Nanos::from_millis(2),
        ..flow()
    };
    let (sent, received) = measure(&a, &b, &spec);
    assert_eq!(received.received, sent.sent);
    assert_eq!(received.socket_drops, Packets::ZERO);
}

#[test]
fn loss_at_the_head_and_at_the_tail_is_seen_because_sent_is_known() {
    let (a, b) = pair();
    let receiver = open(&b, &flow());
    let port = receiver.port();
    let drop_all = "nft add table ip t
        nft 'add chain ip t in { type filter hook input priority 0; }'
        nft add rule ip t in meta l4proto udp drop";
    b.sh(drop_all);
    let heal = |host: &Host| host.sh("nft delete table ip t");
    let sending = a.start(move || {
        hawser_wire::Sender::open(&flow(), common::KEY)
            .unwrap()
            .run(port)
            .unwrap()
    });
    std::thread::sleep(Duration::from_millis(60));
    heal(&b);
    std::thread::sleep(Duration::from_millis(60));
    b.sh(drop_all);
    let sent = sending.join();
    let received = receiver
        .finish(sent.sent, Duration::from_millis(50))
        .unwrap();
    let runs = &received.first_loss_runs;
    assert_eq!(runs.len(), 2, "{received:?}");
    assert_eq!(runs[0].first, 0);
    assert_eq!(runs[1].first + runs[1].length, sent.sent.0);
    runs_add_up(&sent, &received);
}

#[test]
fn what_the_senders_filter_rejects_is_counted_by_name_and_only_once() {
    let (a, b) = pair();
    a.sh("nft add table ip t
        nft 'add chain ip t out { type filter hook output priority 0; }'
        nft add rule ip t out meta l4proto udp numgen inc mod 10 '<' 3 counter drop");
    let spec = FlowSpec {
        burst: 50,
        ..flow()
    };
    let (sent, received) = measure(&a, &b, &spec);
    let refused = sent.refused_total();
    assert_eq!(sent.refused.keys().collect::<Vec<_>>(), ["EPERM"]);
    assert_eq!(refused, lost(&sent, &received), "{sent:?}");
    // The rule's counter saw each refused packet once: nothing was tried twice.
    let rules = a.sh("nft list chain ip t out");
    assert!(
        rules.contains(&format!("packets {} ", refused.0)),
        "{refused} in {rules}"
    );
    runs_add_up(&sent, &received);
}

#[test]
fn a_filter_that_rejects_everything_is_a_state_and_not_an_error() {
    let (a, b) = pair();
    a.sh("nft add table ip t
        nft 'add chain ip t out { type filter hook output priority 0; }'
        nft add rule ip t out meta l4proto udp drop");
    let (sent, received) = measure(&a, &b, &flow());
    assert!(sent.sent > Packets(20));
    assert_eq!(sent.refused["EPERM"], sent.sent);
    assert_eq!(received.received, Packets::ZERO);
    assert_eq!(received.first_loss_runs[0].length, sent.sent.0);
}

#[test]
fn larger_than_the_interface_with_dont_fragment_is_refused_by_name() {
    let (a, b) = pair();
    let spec = FlowSpec {
        payload: 2_000,
        ..flow()
    };
    let (sent, _) = measure(&a, &b, &spec);
    assert_eq!(sent.refused["EMSGSIZE"], sent.sent);
    let fragmented = FlowSpec {
        dont_fragment: false,
        ..spec
    };
    let (sent, received) = measure(&a, &b, &fragmented);
    assert!(sent.refused.is_empty(), "{sent:?}");
    assert_eq!(received.received, sent.sent);
}

#[test]
fn nobody_listening_and_no_route_are_counted_by_name() {
    let (a, b) = pair();
    let sent = send(&a, &flow(), 9);
    assert_eq!(sent.refused.keys().collect::<Vec<_>>(), ["ECONNREFUSED"]);
    let receiver = open(&b, &flow());
    let port = receiver.port();
    let sending = a.start(move || {
        hawser_wire::Sender::open(&flow(), common::KEY)
            .unwrap()
            .run(port)
            .unwrap()
    });
    std::thread::sleep(Duration::from_millis(60));
    // The link goes down in the middle of the flow.
    b.sh("ip link set ring0 down");
    let sent = sending.join();
    let received = receiver
        .finish(sent.sent, Duration::from_millis(50))
        .unwrap();
    assert!(received.received > Packets::ZERO && received.received < sent.sent);
    runs_add_up(&sent, &received);
}
