//! Runs of consecutive lost packets, put together from numbers that come in order.

use std::collections::{BTreeMap, VecDeque};

use hawser_model::traffic::LossRun;
use hawser_model::units::Nanos;

/// Runs reported one by one.
const REPORTED: usize = 64;

/// Gaps whose time is remembered until it is settled whether they were loss or reordering.
const REMEMBERED: usize = 4096;

/// A jump of the sequence: everything from `first` to before `end` was missing when `end` came.
#[derive(Debug)]
struct Gap {
    first: u64,
    end: u64,
    at: Nanos,
}

/// What is settled so far.
#[derive(Debug, Default)]
pub(super) struct Runs {
    by_length: BTreeMap<u64, u64>,
    first: Vec<LossRun>,
    gaps: VecDeque<Gap>,
    /// Where the run that is being settled began.
    open: Option<u64>,
}

impl Runs {
    /// The newest number jumped over `first..end`.
    pub(super) fn opened(&mut self, first: u64, end: u64, at: Nanos) {
        if self.first.len() < REPORTED && self.gaps.len() < REMEMBERED {
            self.gaps.push_back(Gap { first, end, at });
        }
    }

    /// The numbers from `start` on are missing, up to a later call or the end.
    pub(super) fn missing(&mut self, start: u64) {
        self.open.get_or_insert(start);
    }

    /// The numbers from `start` on: bit i of `seen` tells whether `start + i` arrived.
    #[inline]
    pub(super) fn word(&mut self, start: u64, seen: u64, count: u32) {
        if seen == u64::MAX {
            return self.present(start);
        }
        let mut at = 0;
        while at < count {
            let rest = seen >> at;
            if rest & 1 == 1 {
                self.present(start + u64::from(at));
                at += rest.trailing_ones();
            } else {
                self.missing(start + u64::from(at));
                at += rest.trailing_zeros();
            }
        }
    }

    /// `number` arrived: a run before it ends here.
    #[inline]
    fn present(&mut self, number: u64) {
        if let Some(first) = self.open.take() {
            self.close(first, number, None);
        }
    }

    fn close(&mut self, first: u64, end: u64, at: Option<Nanos>) {
        *self.by_length.entry(end - first).or_default() += 1;
        if self.first.len() == REPORTED {
            return;
        }
        while self.gaps.front().is_some_and(|gap| gap.end <= first) {
            self.gaps.pop_front();
        }
        let opened = self.gaps.front().filter(|gap| gap.first <= first);
        let at = at.or(opened.map(|gap| gap.at));
        self.first.push(LossRun {
            first,
            length: end - first,
            // Unknown only when thousands of reordered gaps came before the first losses.
            at: at.unwrap_or(Nanos(u64::MAX)),
        });
        if self.first.len() == REPORTED {
            self.gaps = VecDeque::new();
        }
    }

    /// Everything below `end` is settled; `elapsed` is when the last packet arrived.
    pub(super) fn finish(mut self, end: u64, elapsed: Nanos) -> (BTreeMap<u64, u64>, Vec<LossRun>) {
        if let Some(first) = self.open.take() {
            self.close(first, end, Some(elapsed));
        }
        for run in &mut self.first {
            run.at = run.at.min(elapsed);
        }
        (self.by_length, self.first)
    }
}
