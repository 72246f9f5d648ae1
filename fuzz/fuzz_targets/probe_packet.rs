//! What a probe socket may hear: anything from anybody, our own packets, and those damaged.
//!
//! Whatever comes, nothing panics, each datagram is counted exactly once, and only what was
//! really sent is believed.
#![no_main]

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use hawser_model::traffic::{FlowId, RunKey};
use hawser_model::units::{Nanos, Packets};
use hawser_wire::hello;
use hawser_wire::packet::{HEADER_BYTES, Template, parse};
use hawser_wire::tally::Tally;
use libfuzzer_sys::fuzz_target;

const KEY: RunKey = RunKey(7);
const FLOW: FlowId = FlowId(3);
const SENDER: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

fuzz_target!(|data: &[u8]| {
    let _ = hello::parse(data);
    let template = Template::new(KEY, FLOW, HEADER_BYTES + 9);
    let mut tally = Tally::new(template.clone(), SENDER);
    let mut heard = 0;
    // Each piece: what it is, from which port, and its bytes.
    let mut rest = data;
    while let Some(([kind, port, length], after)) = rest.split_first_chunk() {
        let (bytes, after) = after.split_at(usize::from(*length).min(after.len()));
        rest = after;
        let packet = match kind % 4 {
            0 => bytes.to_vec(),
            1 => ours(&template, bytes),
            2 => damaged(ours(&template, bytes), bytes),
            _ => magic_and(bytes),
        };
        let believed = parse(&packet).ok();
        let own = believed.filter(|p| p.key == KEY && p.flow == FLOW);
        assert_eq!(
            template.read(&packet),
            own.filter(|_| packet.len() == template.payload())
        );
        let from = SocketAddr::new(SENDER, u16::from(*port));
        heard += 1;
        tally.arrived(&packet, || Some(from), Nanos(heard * 1_000));
    }
    let report = tally.finish(Packets(u64::from(data.first().copied().unwrap_or(0))));
    let counted = report.received + report.duplicates + report.corrupted + report.foreign;
    assert_eq!(counted, Packets(heard));
    assert!(report.reordered <= report.received);
});

/// An intact packet of the flow whose sequence number and time come from the bytes.
fn ours(template: &Template, bytes: &[u8]) -> Vec<u8> {
    let mut field = [0; 8];
    for (to, from) in field.iter_mut().zip(bytes) {
        *to = *from;
    }
    let sequence = u64::from_le_bytes(field);
    let packet = template.packet(sequence, Nanos(sequence.rotate_left(17)));
    let probe = parse(&packet).expect("what was written is read");
    assert_eq!(
        (probe.sequence, probe.key, probe.flow),
        (sequence, KEY, FLOW)
    );
    packet
}

/// One bit flipped, where the bytes say: never believed.
fn damaged(mut packet: Vec<u8>, bytes: &[u8]) -> Vec<u8> {
    let place = bytes
        .iter()
        .fold(0_usize, |a, b| (a * 31 + usize::from(*b)) % 65_536);
    let bit = place % (packet.len() * 8);
    packet[bit / 8] ^= 1 << (bit % 8);
    assert!(parse(&packet).is_err());
    packet
}

fn magic_and(bytes: &[u8]) -> Vec<u8> {
    let mut packet = hawser_model::traffic::PROBE_MAGIC.to_vec();
    packet.extend(bytes);
    packet
}
