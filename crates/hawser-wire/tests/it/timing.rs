//! Pacing, jitter, drain and packet memory: the pure parts that deal with time.

use hawser_model::traffic::Drain;
use hawser_model::units::{Bytes, Nanos, Packets, PacketsPerSec};
use hawser_wire::drain::DrainMeter;
use hawser_wire::jitter::Jitter;
use hawser_wire::pacing::{Pacer, total};
use hawser_wire::packet_memory::PacketMemory;
use proptest::prelude::*;

/// When each burst was sent by a sender that wakes `lateness` after it should.
fn sent_at(mut pacer: Pacer, lateness: &[u64]) -> Vec<u64> {
    let mut now = 0;
    lateness
        .iter()
        .map(|late| {
            now = now.max(pacer.due().0 + late);
            pacer.sent(Nanos(now));
            now
        })
        .collect()
}

proptest! {
    #[test]
    fn a_punctual_sender_keeps_the_rate_exactly(rate in 1..2_000_000_u64, burst in 1..500_u32) {
        let times = sent_at(Pacer::new(PacketsPerSec(rate), burst, Nanos(0)), &[0; 100]);
        for (i, time) in times.iter().enumerate() {
            let exact = i as u128 * u128::from(burst) * 1_000_000_000 / u128::from(rate);
            prop_assert_eq!(u128::from(*time), exact);
        }
    }

    #[test]
    fn lateness_never_becomes_a_flood(
        rate in 1..2_000_000_u64, burst in 1..500_u32,
        lateness in proptest::collection::vec(0..50_000_000_u64, 1..200),
    ) {
        let pacer = Pacer::new(PacketsPerSec(rate), burst, Nanos(0));
        let interval = pacer.interval().0;
        let times = sent_at(pacer, &lateness);
        for pair in times.windows(2) {
            // Two bursts are never back to back, and never faster than twice the rate.
            prop_assert!(pair[1] - pair[0] >= interval / 2);
        }
        // Never more than the rate allows since the start.
        for (i, time) in times.iter().enumerate() {
            let allowed = u128::from(*time) * u128::from(rate) / 1_000_000_000 / u128::from(burst);
            prop_assert!(i as u128 <= allowed + 1);
        }
    }

    #[test]
    fn small_lateness_is_caught_up(rate in 1..100_000_u64, late in 0..400_000_u64) {
        let mut lateness = vec![0; 1_000];
        lateness[3] = late;
        let times = sent_at(Pacer::new(PacketsPerSec(rate), 1, Nanos(0)), &lateness);
        let exact = 999 * 1_000_000_000 / rate;
        prop_assert_eq!(times[999], exact);
    }
}

#[test]
fn long_lateness_is_given_up() {
    let mut lateness = vec![0; 20];
    lateness[10] = 1_000_000_000;
    let times = sent_at(Pacer::new(PacketsPerSec(100), 1, Nanos(0)), &lateness);
    // 10 ms apart; after the pause the schedule has moved by all but one interval of it.
    assert_eq!(times[10], 1_100_000_000);
    assert_eq!(times[19], 1_180_000_000);
}

#[test]
fn the_number_of_packets_is_rate_times_duration_and_at_least_one() {
    assert_eq!(total(PacketsPerSec(1_000), Nanos::from_millis(200)), 200);
    assert_eq!(total(PacketsPerSec(3), Nanos::from_millis(500)), 2);
    assert_eq!(total(PacketsPerSec(1), Nanos(1)), 1);
}

#[test]
fn jitter_is_the_smoothed_difference_of_transit_times() {
    let mut jitter = Jitter::default();
    // Clocks a day apart; every second packet comes 160 µs late. RFC 3550: J converges to
    // |D| = 160 µs, one sixteenth of the way with each packet.
    let day = 86_400_000_000_000;
    for i in 0..200_u64 {
        let late = if i % 2 == 1 { 160_000 } else { 0 };
        jitter.arrived(Nanos(i * 1_000_000), Nanos(day + i * 1_000_000 + late));
    }
    let found = jitter.quantiles();
    assert_eq!(found.count, 199);
    assert!((9_900..=10_100).contains(&found.min.0), "{found:?}");
    assert!((159_000..=160_200).contains(&found.max.0), "{found:?}");
}

#[test]
fn an_even_stream_has_no_jitter_whatever_the_clocks_say() {
    let mut jitter = Jitter::default();
    for i in 0..100 {
        // The receiver's clock is behind: transit times are negative.
        jitter.arrived(Nanos(1_000_000 + i * 50), Nanos(i * 50));
    }
    assert_eq!(jitter.quantiles().max, Nanos::ZERO);
}

#[test]
fn waiting_counts_as_idle_only_between_the_first_packet_and_the_last() {
    let mut meter = DrainMeter::default();
    // Nothing for 5 s, then a packet worked on for 2 µs; 10 µs of waiting; somebody else's
    // packet, 1 µs; 7 µs of waiting; a packet, 3 µs; nothing for 9 s.
    meter.woke(Nanos(0), Nanos(5_000_000));
    meter.read();
    meter.emptied(Nanos(5_002_000));
    meter.woke(Nanos(5_002_000), Nanos(5_012_000));
    meter.emptied(Nanos(5_013_000));
    meter.woke(Nanos(5_013_000), Nanos(5_020_000));
    meter.read();
    meter.emptied(Nanos(5_023_000));
    meter.woke(Nanos(5_023_000), Nanos(14_000_000));
    meter.emptied(Nanos(14_000_000));
    assert_eq!(
        meter.finish(),
        Drain {
            busy: Nanos(5_000),
            idle: Nanos(18_000),
            waits: 2,
            runnable: None,
        }
    );
    let drain = Drain {
        busy: Nanos(5_000),
        ..Drain::default()
    };
    assert_eq!(drain.capacity(Packets(2)), Some(PacketsPerSec(400_000)));
}

#[test]
fn packet_memory_is_what_all_charges_are_multiples_of() {
    let mut memory = PacketMemory::new(200);
    // One more comes now and then before the read.
    for (packets, late) in [(6, 0), (4, 1), (9, 0)] {
        memory.woke(packets * 768);
        memory.read(Some(packets + late));
    }
    // Somebody's large packet in between says nothing of ours.
    memory.woke(9_001);
    memory.read(None);
    memory.woke(0);
    memory.read(Some(1));
    assert_eq!(memory.finish(), Some(Bytes(768)));
}

#[test]
fn packet_memory_is_not_that_of_a_burst_which_a_late_reader_finds_each_time() {
    let mut memory = PacketMemory::new(1_472);
    for bursts in [1, 1, 2] {
        memory.woke(bursts * 50 * 2_304);
        memory.read(Some(bursts * 50));
    }
    assert_eq!(memory.finish(), Some(Bytes(2_304)));
    // Where more came before each read, it is not known.
    let mut memory = PacketMemory::new(1_472);
    for late in [1, 3, 7] {
        memory.woke(50 * 2_304);
        memory.read(Some(50 + late));
    }
    assert_eq!(memory.finish(), None);
}

#[test]
fn packet_memory_is_unknown_of_a_reader_that_was_never_idle() {
    // It woke once, and six packets were there.
    let mut memory = PacketMemory::new(1_472);
    memory.woke(6 * 2_304);
    memory.read(Some(6));
    assert_eq!(memory.finish(), None);
}

#[test]
fn packet_memory_is_unknown_without_a_sample_or_with_an_impossible_one() {
    assert_eq!(PacketMemory::new(200).finish(), None);
    assert!(!PacketMemory::unknowable().wanted());
    let mut mixed = PacketMemory::new(200);
    for charged in [768, 769] {
        mixed.woke(charged);
        mixed.read(Some(1));
    }
    assert_eq!(mixed.finish(), None);
}
