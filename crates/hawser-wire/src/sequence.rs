//! What became of a flow's sequence numbers: received, twice, late, lost in which runs.
//!
//! Pure: packets and times come in, values come out. Memory is bounded whatever arrives: a
//! sliding window of [`WINDOW`] numbers remembers exactly which were seen, and what leaves
//! it is settled for good. A packet that comes later than a whole window of younger ones
//! (at a million packets a second: more than a second late) can no longer be told from a
//! second copy and counts as one.

mod runs;
mod window;

use hawser_model::traffic::LossRun;
use hawser_model::units::{Nanos, Packets};
use std::collections::BTreeMap;

use runs::Runs;
use window::Window;

/// Sequence numbers that are remembered one by one: 128 KiB.
pub const WINDOW: u64 = 1 << 20;

/// What one arrival was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// The next, or a later one than all before.
    Newest,
    /// Seen for the first time, but after a later one.
    Reordered,
    /// Seen before.
    Duplicate,
}

/// The running account of one flow's sequence numbers.
#[derive(Debug)]
pub struct Sequence {
    window: Window,
    runs: Runs,
    newest: Option<u64>,
    received: u64,
    duplicates: u64,
    reordered: u64,
    first_at: Nanos,
    last_at: Nanos,
    longest_gap: Nanos,
}

/// The account when the flow is over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sequenced {
    /// Distinct packets.
    pub received: Packets,
    /// Further copies.
    pub duplicates: Packets,
    /// First copies that came after a later packet.
    pub reordered: Packets,
    /// Runs of loss by length.
    pub runs_by_length: BTreeMap<u64, u64>,
    /// The first 64 runs. `at` is when the first later packet arrived; for the packets lost
    /// at the very end, when the last packet did.
    pub first_runs: Vec<LossRun>,
    /// From the first to the last arrival.
    pub elapsed: Nanos,
    /// Longest time between two arrivals.
    pub longest_gap: Nanos,
}

impl Default for Sequence {
    fn default() -> Self {
        Self::with_window(WINDOW)
    }
}

impl Sequence {
    /// A window of another size (rounded up to a multiple of 64 that is a power of two).
    pub fn with_window(numbers: u64) -> Self {
        Self {
            window: Window::new(numbers),
            runs: Runs::default(),
            newest: None,
            received: 0,
            duplicates: 0,
            reordered: 0,
            first_at: Nanos::ZERO,
            last_at: Nanos::ZERO,
            longest_gap: Nanos::ZERO,
        }
    }

    /// Distinct packets so far.
    pub fn received(&self) -> Packets {
        Packets(self.received)
    }

    /// A packet arrived; `at` must not go back from call to call.
    #[inline]
    pub fn arrived(&mut self, sequence: u64, at: Nanos) -> Arrival {
        match self.newest {
            None => {
                self.first_at = at;
                if sequence > 0 {
                    self.runs.opened(0, sequence, Nanos::ZERO);
                }
            }
            Some(newest) => {
                let gap = at.saturating_sub(self.last_at);
                self.longest_gap = self.longest_gap.max(gap);
                if sequence > newest && sequence - newest > 1 {
                    let after = at.saturating_sub(self.first_at);
                    self.runs.opened(newest + 1, sequence, after);
                }
            }
        }
        self.last_at = at;
        if !self.window.mark(sequence, &mut self.runs) {
            self.duplicates += 1;
            return Arrival::Duplicate;
        }
        self.received += 1;
        if self.newest.is_some_and(|newest| sequence < newest) {
            self.reordered += 1;
            return Arrival::Reordered;
        }
        self.newest = Some(sequence);
        Arrival::Newest
    }

    /// The flow is over and its sender used the numbers below `sent`; what is missing up to
    /// there is lost.
    pub fn finish(mut self, sent: Packets) -> Sequenced {
        let end = self
            .newest
            .map_or(sent.0, |newest| sent.0.max(newest.saturating_add(1)));
        self.window.settle(end, &mut self.runs);
        let elapsed = self.last_at.saturating_sub(self.first_at);
        let (runs_by_length, first_runs) = self.runs.finish(end, elapsed);
        Sequenced {
            received: Packets(self.received),
            duplicates: Packets(self.duplicates),
            reordered: Packets(self.reordered),
            runs_by_length,
            first_runs,
            elapsed,
            longest_gap: self.longest_gap,
        }
    }
}
