//! Whose packet is it: ours, damaged, or somebody else's.

use std::net::UdpSocket;
use std::time::Duration;

use crate::common::{Host, KEY, flow, open, pair};
use hawser_model::traffic::{FlowId, RunKey};
use hawser_model::units::{Nanos, Packets};
use hawser_wire::packet::Template;

const SETTLE: Duration = Duration::from_millis(50);

/// Sends payloads from one socket on the host to the flow's receiver.
fn inject(host: &Host, port: u16, payloads: Vec<Vec<u8>>) -> u16 {
    host.run(move || {
        let socket = UdpSocket::bind("10.9.0.1:0").unwrap();
        for payload in payloads {
            socket.send_to(&payload, ("10.9.0.2", port)).unwrap();
        }
        socket.local_addr().unwrap().port()
    })
}

fn packets(key: RunKey, flow: FlowId) -> impl Fn(u64) -> Vec<u8> {
    let template = Template::new(key, flow, 200);
    move |sequence| template.packet(sequence, Nanos(sequence * 1_000))
}

#[test]
fn duplicates_reordering_and_damage_are_told_apart_from_loss() {
    let (a, b) = pair();
    let receiver = open(&b, &flow());
    let ours = packets(KEY, FlowId(7));
    let mut damaged = ours(4);
    damaged[150] ^= 0x10;
    // 0 2 1 3 3 [4 damaged] 5 [6 lost] 7
    let sent = vec![
        ours(0),
        ours(2),
        ours(1),
        ours(3),
        ours(3),
        damaged,
        ours(5),
        ours(7),
    ];
    inject(&a, receiver.port(), sent);
    let report = receiver.finish(Packets(8), SETTLE).unwrap();
    assert_eq!(report.received, Packets(6));
    assert_eq!(report.reordered, Packets(1));
    assert_eq!(report.duplicates, Packets(1));
    assert_eq!(report.corrupted, Packets(1));
    assert_eq!(report.foreign, Packets::ZERO);
    assert_eq!(
        report.loss_runs_by_length.into_iter().collect::<Vec<_>>(),
        [(1, 2)]
    );
}

#[test]
fn other_runs_other_flows_and_noise_are_foreign() {
    let (a, b) = pair();
    let receiver = open(&b, &flow());
    let port = receiver.port();
    inject(&a, port, vec![packets(KEY, FlowId(7))(0)]);
    let strangers = vec![
        packets(RunKey(KEY.0 ^ 1), FlowId(7))(1),
        packets(KEY, FlowId(8))(2),
        b"noise".to_vec(),
        Vec::new(),
    ];
    inject(&a, port, strangers);
    let report = receiver.finish(Packets(1), SETTLE).unwrap();
    assert_eq!(report.received, Packets(1));
    assert_eq!(report.foreign, Packets(4));
    assert_eq!(report.corrupted, Packets::ZERO);
}

#[test]
fn damage_from_the_announced_port_is_the_flows_even_if_nothing_intact_arrives() {
    let (a, b) = pair();
    let mut receiver = open(&b, &flow());
    let mut damaged = packets(KEY, FlowId(7))(0);
    damaged[3] ^= 1;
    let ours = inject(&a, receiver.port(), vec![damaged.clone(), damaged.clone()]);
    inject(&a, receiver.port(), vec![damaged]);
    receiver.expect_from(ours);
    let report = receiver.finish(Packets(2), SETTLE).unwrap();
    assert_eq!(report.corrupted, Packets(2));
    assert_eq!(report.foreign, Packets(1));
}

#[test]
fn foreign_packets_are_not_echoed() {
    let (a, b) = pair();
    let spec = hawser_model::traffic::FlowSpec {
        echo: true,
        ..flow()
    };
    let receiver = open(&b, &spec);
    let port = receiver.port();
    let came_back = a.run(move || {
        let socket = UdpSocket::bind("10.9.0.1:0").unwrap();
        socket.set_read_timeout(Some(SETTLE)).unwrap();
        let foreign = packets(RunKey(1), FlowId(7))(0);
        socket.send_to(&foreign, ("10.9.0.2", port)).unwrap();
        socket.recv(&mut [0; 512]).is_ok()
    });
    assert!(!came_back);
    let report = receiver.finish(Packets(0), SETTLE).unwrap();
    assert_eq!((report.foreign, report.echoed), (Packets(1), Packets(0)));
}
