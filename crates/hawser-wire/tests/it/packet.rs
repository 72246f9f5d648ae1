//! The probe packet's bytes: whatever arrives, only what was sent is believed.

use hawser_model::names::{HostName, LinkName};
use hawser_model::traffic::{FlowId, PROBE_MAGIC, RunKey};
use hawser_model::units::Nanos;
use hawser_wire::hello::{self, Hello};
use hawser_wire::packet::{Damage, HEADER_BYTES, Probe, Template, parse};
use proptest::prelude::*;

proptest! {
    #[test]
    fn any_bytes_are_read_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = parse(&bytes);
        let mut probe_like = PROBE_MAGIC.to_vec();
        probe_like.extend(bytes);
        let _ = parse(&probe_like);
        let _ = hello::parse(&probe_like);
    }

    #[test]
    fn what_was_written_is_read(
        key: u64, flow: u32, sequence: u64, time: u64, payload in 0_usize..9_000,
    ) {
        let template = Template::new(RunKey(key), FlowId(flow), payload);
        let packet = template.packet(sequence, Nanos(time));
        prop_assert_eq!(packet.len(), payload.max(HEADER_BYTES));
        prop_assert_eq!(&packet[..8], &PROBE_MAGIC);
        prop_assert_eq!(parse(&packet), Ok(Probe {
            key: RunKey(key),
            flow: FlowId(flow),
            sequence,
            sent_at: Nanos(time),
        }));
    }

    #[test]
    fn every_flipped_bit_is_detected(
        key: u64, flow: u32, sequence: u64, payload in 0_usize..2_000, bit: prop::sample::Index,
    ) {
        let template = Template::new(RunKey(key), FlowId(flow), payload);
        let mut packet = template.packet(sequence, Nanos(1));
        let bit = bit.index(packet.len() * 8);
        packet[bit / 8] ^= 1 << (bit % 8);
        let expected = if bit / 8 < 8 { Damage::Magic } else { Damage::Checksum };
        prop_assert_eq!(parse(&packet), Err(expected));
    }

    #[test]
    fn a_packet_cut_short_is_detected(payload in 40_usize..400, cut in 1_usize..400) {
        let packet = Template::new(RunKey(1), FlowId(2), payload).packet(3, Nanos(4));
        let rest = &packet[..packet.len().saturating_sub(cut)];
        prop_assert!(parse(rest).is_err());
    }

    #[test]
    fn a_stamped_buffer_is_the_packet_written_whole(sequences in proptest::collection::vec(any::<u64>(), 1..20)) {
        let template = Template::new(RunKey(9), FlowId(9), 77);
        let mut buffer = vec![0; template.payload()];
        template.prepare(&mut buffer);
        for sequence in sequences {
            template.stamp(&mut buffer, sequence, Nanos(sequence));
            prop_assert_eq!(&buffer, &template.packet(sequence, Nanos(sequence)));
        }
    }

    #[test]
    fn the_fast_reading_believes_exactly_what_the_slow_one_does(
        sequence: u64, payload in 0_usize..500, flips in proptest::collection::vec(any::<prop::sample::Index>(), 0..3),
    ) {
        let template = Template::new(RunKey(5), FlowId(6), payload);
        let mut packet = template.packet(sequence, Nanos(sequence ^ 77));
        for flip in flips {
            let bit = flip.index(packet.len() * 8);
            packet[bit / 8] ^= 1 << (bit % 8);
        }
        prop_assert_eq!(template.read(&packet), parse(&packet).ok());
        prop_assert_eq!(Template::new(RunKey(5), FlowId(7), payload).read(&packet), None);
    }

    #[test]
    fn a_hello_is_read_as_written_even_padded(
        key: u64, nonce: u64, from in "\\PC{0,40}", link in "\\PC{0,40}", padding in 0_usize..60,
    ) {
        let hello = Hello { key: RunKey(key), nonce, from: HostName(from), link: LinkName(link) };
        let mut frame = hello::encode(&hello);
        frame.resize(frame.len() + padding, 0);
        prop_assert_eq!(hello::parse(&frame), Some(hello));
    }

    #[test]
    fn a_damaged_hello_is_not_believed(nonce: u64, bit: prop::sample::Index) {
        let hello = Hello { key: RunKey(7), nonce, from: "head1".into(), link: "ring0".into() };
        let mut frame = hello::encode(&hello);
        let bit = bit.index(frame.len() * 8);
        frame[bit / 8] ^= 1 << (bit % 8);
        prop_assert_eq!(hello::parse(&frame), None);
    }
}

#[test]
fn the_layout_is_the_documented_one() {
    let packet = Template::new(RunKey(0x0102), FlowId(0x0304), 48).packet(0x0506, Nanos(0x0708));
    assert_eq!(&packet[8..16], &0x0102_u64.to_be_bytes());
    assert_eq!(&packet[16..20], &0x0304_u32.to_be_bytes());
    assert_eq!(&packet[20..28], &0x0506_u64.to_be_bytes());
    assert_eq!(&packet[28..36], &0x0708_u64.to_be_bytes());
    let mut checked = packet[40..].to_vec();
    checked.extend(&packet[..36]);
    assert_eq!(&packet[36..40], &crc32(&checked).to_be_bytes());
}

/// CRC-32 bit by bit, as IEEE 802.3 defines it.
fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = !0_u32;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 {
                crc >> 1 ^ 0xedb8_8320
            } else {
                crc >> 1
            };
        }
    }
    !crc
}
