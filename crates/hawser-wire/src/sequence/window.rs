//! The sliding window over sequence numbers: one bit each, settled as it moves on.

use super::runs::Runs;

/// A ring of bits for the numbers from `base` on.
#[derive(Debug)]
pub(super) struct Window {
    words: Box<[u64]>,
    /// Lowest number still held; a multiple of 64.
    base: u64,
}

impl Window {
    pub(super) fn new(numbers: u64) -> Self {
        let words = usize::try_from(numbers.div_ceil(64).next_power_of_two()).unwrap_or(1);
        Self {
            words: vec![0; words].into_boxed_slice(),
            base: 0,
        }
    }

    fn slot(&self, number: u64) -> usize {
        // The length is a power of two, so the low bits of the word's number are the slot.
        (number / 64) as usize & (self.words.len() - 1)
    }

    fn span(&self) -> u64 {
        self.words.len() as u64 * 64
    }

    /// Notes `number`; false when it was noted before or has left the window.
    #[inline]
    pub(super) fn mark(&mut self, number: u64, runs: &mut Runs) -> bool {
        if number < self.base {
            return false;
        }
        if number - self.base >= self.span() {
            self.slide(number, runs);
        }
        let slot = self.slot(number);
        let bit = 1 << (number % 64);
        let fresh = self.words[slot] & bit == 0;
        self.words[slot] |= bit;
        fresh
    }

    /// Moves on so far that `number` is in the last word.
    fn slide(&mut self, number: u64, runs: &mut Runs) {
        let base = number / 64 * 64 - (self.span() - 64);
        self.settle(base, runs);
        self.base = base;
    }

    /// Hands every number below `end` that was not handed over yet to `runs`, in order.
    pub(super) fn settle(&mut self, end: u64, runs: &mut Runs) {
        let held = end.min(self.base.saturating_add(self.span()));
        while self.base < held {
            let slot = self.slot(self.base);
            let count = (held - self.base).min(64);
            runs.word(self.base, self.words[slot], count as u32);
            self.words[slot] = 0;
            self.base += count;
        }
        if self.base < end {
            runs.missing(self.base);
            self.base = end;
        }
    }
}
