//! What the application felt: throughput over time, latency, the longest stall.

use std::collections::BTreeMap;

use crate::history::{Kind, Record};

/// The length of a slice in microseconds.
pub const SLICE_US: u64 = 100_000;

/// A time without an acknowledgement, as one writer saw it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stall {
    /// Who waited.
    pub writer: u8,
    /// The last acknowledgement before it, in microseconds since 1970.
    pub from_us: u64,
    /// The first one after it; when there was none, the end of the run.
    pub to_us: u64,
    /// Whether it ended with an acknowledgement.
    pub over: bool,
}

impl Stall {
    /// Its length in seconds.
    pub fn seconds(&self) -> f64 {
        self.to_us.saturating_sub(self.from_us) as f64 / 1e6
    }
}

/// What an application felt.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Felt {
    /// The longest stall of any one writer.
    pub longest: Stall,
    /// When the first slice begins.
    pub begin_us: u64,
    /// Acknowledged writes in each slice.
    pub slices: Vec<u32>,
    /// Half of the writes took no longer, in microseconds.
    pub median_us: u64,
    /// 99 % took no longer.
    pub p99_us: u64,
    /// Times that a path was lost.
    pub paths_lost: u64,
    /// Answers that were a refusal.
    pub refused: u64,
}

/// What the writers of this history felt until they were told to stop.
pub fn felt(history: &[Record]) -> Felt {
    let mut felt = Felt {
        begin_us: history.first().map_or(0, |record| record.at_us),
        ..Felt::default()
    };
    let mut last: BTreeMap<u8, u64> = BTreeMap::new();
    let mut took: Vec<u64> = Vec::new();
    let mut end = felt.begin_us;
    for record in history {
        if record.is_progress() {
            let before = last.insert(record.writer, record.at_us);
            longer(&mut felt.longest, record.writer, before, record.at_us, true);
        }
        match record.kind {
            Kind::Acknowledged => {
                let slice = record.at_us.saturating_sub(felt.begin_us) / SLICE_US;
                let slice = usize::try_from(slice).unwrap_or(usize::MAX).min(1 << 20);
                if felt.slices.len() <= slice {
                    felt.slices.resize(slice + 1, 0);
                }
                felt.slices[slice] += 1;
                took.push(record.value);
            }
            Kind::PathLost => felt.paths_lost += 1,
            Kind::Refused => felt.refused += 1,
            Kind::Final => break,
            _ => {}
        }
        end = record.at_us;
    }
    for (writer, before) in last {
        longer(&mut felt.longest, writer, Some(before), end, false);
    }
    took.sort_unstable();
    let at = |share: usize| took.get(took.len() * share / 100).copied().unwrap_or(0);
    felt.median_us = at(50);
    felt.p99_us = at(99);
    felt
}

fn longer(longest: &mut Stall, writer: u8, from: Option<u64>, to_us: u64, over: bool) {
    let Some(from_us) = from else { return };
    if to_us.saturating_sub(from_us) > longest.to_us.saturating_sub(longest.from_us) {
        *longest = Stall {
            writer,
            from_us,
            to_us,
            over,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn acknowledged(writer: u8, milliseconds: u64) -> Record {
        Record {
            at_us: milliseconds * 1000,
            value: milliseconds,
            ..Record::new(Kind::Acknowledged, writer)
        }
    }

    #[test]
    fn the_longest_stall_is_that_of_one_writer_even_while_another_goes_on() {
        let history: Vec<Record> = [(0, 0), (1, 0), (0, 10), (1, 900), (0, 1800), (1, 1850)]
            .into_iter()
            .map(|(writer, at)| acknowledged(writer, at))
            .collect();
        let felt = felt(&history);
        assert_eq!((felt.longest.writer, felt.longest.over), (0, true));
        assert_eq!(
            (felt.longest.from_us, felt.longest.to_us),
            (10_000, 1_800_000)
        );
        assert_eq!(felt.slices[0], 3);
        assert_eq!(felt.slices[18], 2);
    }

    #[test]
    fn who_creates_files_waits_too_and_writes_nothing() {
        let created = |milliseconds| Record {
            kind: Kind::Created,
            ..acknowledged(1, milliseconds)
        };
        let history = [
            acknowledged(0, 0),
            created(10),
            acknowledged(0, 20),
            created(900),
        ];
        let felt = felt(&history);
        assert_eq!((felt.longest.writer, felt.longest.over), (1, true));
        assert_eq!(felt.slices, [2]);
    }

    #[test]
    fn a_service_that_never_came_back_is_a_stall_to_the_end() {
        let mut history = vec![acknowledged(0, 0), acknowledged(0, 5)];
        history.push(Record {
            at_us: 9_000_000,
            ..Record::new(Kind::PathLost, 0)
        });
        let felt = felt(&history);
        assert!(!felt.longest.over);
        assert!((felt.longest.seconds() - 8.995).abs() < 1e-9);
    }
}
