//! Reading a history while it is written, to know whether the volume is written to now.

use std::collections::BTreeMap;

use hawser_client::history::Record;

/// A time in which each writer must have had an acknowledgement.
const BEAT_US: u64 = 500_000;

/// Grows with the history.
#[derive(Default)]
pub struct Follower {
    /// By writer, the times of its acknowledgements.
    heard: BTreeMap<u8, Vec<u64>>,
}

impl Follower {
    /// Takes the next record.
    pub fn learn(&mut self, record: &Record) {
        if record.is_progress() {
            let times = self.heard.entry(record.writer).or_default();
            times.push(record.at_us);
        }
    }

    /// Whether each of so many writers was acknowledged something in each half second from `from_us`
    /// until `to_us`.
    pub fn steady(&self, writers: usize, from_us: u64, to_us: u64) -> bool {
        self.heard.len() >= writers
            && self
                .heard
                .values()
                .all(|times| in_each(times, from_us, to_us))
    }
}

fn in_each(times: &[u64], from_us: u64, to_us: u64) -> bool {
    let mut begin = from_us;
    while begin + BEAT_US <= to_us {
        let first = times.partition_point(|at| *at < begin);
        if times.get(first).is_none_or(|at| *at >= begin + BEAT_US) {
            return false;
        }
        begin += BEAT_US;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_writer_is_steady_when_no_half_second_is_without_an_acknowledgement() {
        let times: Vec<u64> = (0..40).map(|n| n * 100_000).collect();
        assert!(in_each(&times, 0, 4_000_000));
        assert!(!in_each(&times, 0, 5_000_000));
        let gap = [0, 400_000, 1_600_000, 1_700_000];
        assert!(!in_each(&gap, 0, 1_500_000) && in_each(&gap, 1_500_000, 2_000_000));
    }
}
