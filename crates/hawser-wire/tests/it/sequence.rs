//! The sequence account against a model that remembers everything.

use std::collections::{BTreeMap, BTreeSet};

use hawser_model::traffic::LossRun;
use hawser_model::units::{Nanos, Packets};
use hawser_wire::sequence::{Sequence, Sequenced};
use proptest::prelude::*;

/// Straight from the definitions, with all arrivals at hand.
fn naive(arrivals: &[(u64, Nanos)], sent: u64) -> Sequenced {
    let mut seen = BTreeSet::new();
    let (mut duplicates, mut reordered) = (0, 0);
    for (sequence, _) in arrivals {
        let newest = seen.last().copied();
        if !seen.insert(*sequence) {
            duplicates += 1;
        } else if newest.is_some_and(|newest| *sequence < newest) {
            reordered += 1;
        }
    }
    let first_at = arrivals.first().map_or(Nanos::ZERO, |a| a.1);
    let last_at = arrivals.last().map_or(Nanos::ZERO, |a| a.1);
    let end = sent.max(seen.last().map_or(0, |newest| newest + 1));
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for missing in (0..end).filter(|n| !seen.contains(n)) {
        match runs.last_mut() {
            Some((first, length)) if *first + *length == missing => *length += 1,
            _ => runs.push((missing, 1)),
        }
    }
    let mut runs_by_length = BTreeMap::new();
    for (_, length) in &runs {
        *runs_by_length.entry(*length).or_default() += 1;
    }
    let first_runs = runs.iter().take(64).map(|(first, length)| LossRun {
        first: *first,
        length: *length,
        at: arrivals
            .iter()
            .find(|(sequence, _)| sequence > first)
            .map_or(last_at, |later| later.1)
            .saturating_sub(first_at),
    });
    let gaps = arrivals.windows(2).map(|w| w[1].1.saturating_sub(w[0].1));
    Sequenced {
        received: Packets(seen.len() as u64),
        duplicates: Packets(duplicates),
        reordered: Packets(reordered),
        runs_by_length,
        first_runs: first_runs.collect(),
        elapsed: last_at.saturating_sub(first_at),
        longest_gap: gaps.max().unwrap_or_default(),
    }
}

fn account(window: u64, arrivals: &[(u64, Nanos)], sent: u64) -> Sequenced {
    let mut sequence = Sequence::with_window(window);
    for (number, at) in arrivals {
        sequence.arrived(*number, *at);
    }
    sequence.finish(Packets(sent))
}

/// Arrivals of a flow that is lossy, doubled and shuffled, but by less than `window`.
fn arrivals(window: u64) -> impl Strategy<Value = Vec<(u64, Nanos)>> {
    let late = window / 4;
    let packet = (0..100_u8, 0..late, 0..5_u64);
    (proptest::collection::vec(packet, 0..600), 0..100_u8).prop_map(move |(packets, loss)| {
        let mut order = Vec::new();
        for (number, (luck, delay, copies)) in packets.iter().enumerate() {
            let number = number as u64;
            if *luck < loss {
                continue;
            }
            // Most in order, some late, few twice.
            let delay = if luck % 5 == 0 { *delay } else { 0 };
            order.push((number + delay, number));
            if *copies == 0 {
                order.push((number + delay + 1, number));
            }
        }
        order.sort_by_key(|(when, _)| *when);
        order
            .into_iter()
            .enumerate()
            .map(|(i, (when, number))| (number, Nanos(1_000 + when * 10 + i as u64)))
            .collect()
    })
}

proptest! {
    #[test]
    fn it_agrees_with_the_naive_model(arrivals in arrivals(256), beyond in 0..200_u64) {
        let sent = arrivals.iter().map(|a| a.0 + 1).max().unwrap_or(0) + beyond;
        prop_assert_eq!(account(256, &arrivals, sent), naive(&arrivals, sent));
    }

    #[test]
    fn the_size_of_the_window_does_not_show(arrivals in arrivals(128)) {
        prop_assert_eq!(account(128, &arrivals, 700), account(1 << 20, &arrivals, 700));
    }

    #[test]
    fn any_numbers_at_all_are_counted_without_panic(
        numbers in proptest::collection::vec(any::<u64>(), 0..50), sent: u64,
    ) {
        let arrivals: Vec<_> = numbers.iter().map(|n| (*n, Nanos(*n % 7))).collect();
        let result = account(64, &arrivals, sent);
        let counted = result.received + result.duplicates;
        prop_assert_eq!(counted, Packets(numbers.len() as u64));
    }
}

#[test]
fn nothing_received_is_one_run_of_everything_sent() {
    let result = account(64, &[], 5_000_000_000);
    assert_eq!(result.runs_by_length, BTreeMap::from([(5_000_000_000, 1)]));
    assert_eq!(result.received, Packets::ZERO);
}

#[test]
fn a_jump_beyond_the_window_keeps_the_runs_whole() {
    let arrivals = [(0, Nanos(0)), (1, Nanos(1)), (1_000_000, Nanos(9))];
    let result = account(64, &arrivals, 1_000_001);
    assert_eq!(
        result.first_runs,
        [LossRun {
            first: 2,
            length: 999_998,
            at: Nanos(9),
        }]
    );
}

#[test]
fn a_hundred_million_packets_cost_no_more_memory_than_the_window() {
    let resident = || {
        let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
        pages.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4_096
    };
    let before = resident();
    // Every seventh lost: the worst for anything that would remember the holes.
    let mut sequence = Sequence::default();
    let sent = 100_000_000_u64;
    for number in (0..sent).filter(|n| n % 7 != 3) {
        sequence.arrived(number, Nanos(number));
    }
    let result = sequence.finish(Packets(sent));
    let lost = (0..sent).filter(|n| n % 7 == 3).count() as u64;
    assert_eq!(result.received, Packets(sent - lost));
    assert_eq!(result.runs_by_length, BTreeMap::from([(1, lost)]));
    assert_eq!(result.first_runs.len(), 64);
    let grown = resident().saturating_sub(before);
    assert!(grown < 64 << 20, "{grown} bytes");
}
