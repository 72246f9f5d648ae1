//! A TCP stream between two hosts.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};

use crate::common::{self, Host, flow, flow_v6, measure, open, pair, send};
use hawser_model::traffic::{FlowSpec, Rate, Transport};
use hawser_model::units::{Bytes, Nanos, Packets, PacketsPerSec};

fn stream() -> FlowSpec {
    FlowSpec {
        transport: Transport::Tcp,
        payload: 10_000,
        dont_fragment: false,
        ..flow()
    }
}

/// The largest segment a path MTU of 1 500 allows over IPv4 with timestamps.
const SEGMENT: Bytes = Bytes(1_448);

#[test]
fn a_stream_at_a_rate_delivers_every_byte() {
    let (a, b) = pair();
    let v6 = FlowSpec {
        source: flow_v6().source,
        destination: flow_v6().destination,
        receiver: flow_v6().receiver,
        ..stream()
    };
    for spec in [stream(), v6] {
        let (sent, received) = measure(&a, &b, &spec);
        assert!(
            sent.sent > Packets(20) && sent.sent <= Packets(200),
            "{sent:?}"
        );
        assert_eq!(sent.stream_bytes, received.stream_bytes);
        assert_eq!(sent.sent, received.received);
        assert_eq!(sent.stream_bytes, Bytes(sent.sent.0 * 10_000 + 40));
        assert!(sent.segment_size.unwrap() > Bytes(1_400), "{sent:?}");
    }
}

#[test]
fn as_fast_as_possible_is_faster_than_any_single_core_needs() {
    let (a, b) = pair();
    let spec = FlowSpec {
        rate: Rate::Max,
        payload: 65_536,
        ..stream()
    };
    let (sent, received) = measure(&a, &b, &spec);
    assert_eq!(sent.stream_bytes, received.stream_bytes);
    assert_eq!(sent.segment_size, Some(SEGMENT));
    // A fifth of a second at 1 Gbit/s is 25 MB; veth does ten times that.
    assert!(sent.stream_bytes > Bytes(25_000_000), "{sent:?}");
}

#[test]
fn what_the_path_loses_is_sent_again_and_counted() {
    let (a, b) = pair();
    a.sh("ethtool -K ring0 tso off gso off");
    b.sh("nft add table ip t
        nft 'add chain ip t in { type filter hook input priority 0; }'
        nft add rule ip t in tcp flags '!=' syn numgen random mod 100 '<' 2 drop");
    let spec = FlowSpec {
        duration: Nanos::from_millis(500),
        ..stream()
    };
    let (sent, received) = measure(&a, &b, &spec);
    // What was stuck at the end, since its last segments were lost again and again, is given up.
    assert!(received.stream_bytes <= sent.stream_bytes, "{sent:?}");
    assert!(received.stream_bytes > Bytes(0), "{received:?}");
    assert!(sent.retransmits > Packets::ZERO, "{sent:?}");
}

#[test]
fn a_slow_reader_never_waits_and_holds_the_stream_back() {
    let (a, b) = pair();
    let spec = FlowSpec {
        rate: Rate::Max,
        reader_delay: Nanos::from_millis(1),
        ..stream()
    };
    let (sent, received) = measure(&a, &b, &spec);
    // One read of 10 000 bytes a millisecond, and what fits into the two buffers.
    assert!(sent.stream_bytes < Bytes(20_000_000), "{sent:?}");
    assert!(
        received.drain.busy.0 > received.drain.idle.0 * 5,
        "{received:?}"
    );
}

#[test]
fn a_connection_without_the_key_is_foreign_and_does_not_block_the_flow() {
    let (a, b) = pair();
    let receiver = open(&b, &stream());
    let to: SocketAddr = format!("10.9.0.2:{}", receiver.port()).parse().unwrap();
    let stranger = a.run(move || {
        let mut stream = TcpStream::connect(to).unwrap();
        stream.write_all(&[b'x'; 100]).unwrap();
        stream
    });
    let sent = send(&a, &stream(), receiver.port());
    let received = receiver
        .finish(sent.sent, std::time::Duration::from_millis(100))
        .unwrap();
    drop(stranger);
    assert_eq!(received.foreign, Packets(1));
    assert_eq!(sent.sent, received.received);
}

#[test]
fn nobody_listening_is_an_error_that_names_the_address() {
    let (a, _b): (Host, Host) = pair();
    let error = a
        .run(|| {
            hawser_wire::Sender::open(&stream(), common::KEY)
                .unwrap()
                .run(9)
        })
        .unwrap_err();
    assert!(
        error.to_string().starts_with("connect 10.9.0.2:9: "),
        "{error}"
    );
}

#[test]
fn a_stream_cannot_be_echoed() {
    let spec = FlowSpec {
        echo: true,
        rate: Rate::PerSecond(PacketsPerSec(1)),
        ..stream()
    };
    let error = hawser_wire::Sender::open(&spec, common::KEY).err().unwrap();
    assert!(error.to_string().contains("echoed"), "{error}");
}
