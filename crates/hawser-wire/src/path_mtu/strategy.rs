//! Which sizes to try next. Pure.

use std::collections::BTreeSet;

/// Sizes tried at the same time between the largest that passed and the smallest that did
/// not: sixteen find one of 8 400 in four rounds, where halving would need thirteen.
const AT_ONCE: u32 = 16;

/// Rounds after which a path on which nothing arrives is given up.
const UNHEARD: u32 = 3;

/// The search for the largest size that passes.
///
/// Sizes are those of whole IP packets. Passing is proof, failing is not: a packet of a size
/// that fits may be lost. So a failure only steers the search, and the size just above the
/// result must fail once more, by itself, before the search is done.
#[derive(Clone, Debug)]
pub struct Strategy {
    floor: u32,
    full: u32,
    passed: Option<u32>,
    failed: BTreeSet<u32>,
    /// Sizes the kernel did not even take: those are certain.
    refused: Option<u32>,
    hint: Option<u32>,
    confirmed: Option<u32>,
    /// Rounds in which nothing at all had arrived.
    unheard: u32,
}

impl Strategy {
    /// Between `floor`, which every path of the family must carry, and `full`, the
    /// interface's own MTU.
    pub fn new(floor: u32, full: u32) -> Self {
        Self {
            floor: floor.min(full),
            full,
            passed: None,
            failed: BTreeSet::new(),
            refused: None,
            hint: None,
            confirmed: None,
            unheard: 0,
        }
    }

    /// The largest size that passed.
    pub fn passed(&self) -> Option<u32> {
        self.passed
    }

    /// The smallest size above it that was taken by the kernel and never arrived.
    pub fn silent(&self) -> Option<u32> {
        let above = self.passed.map_or(0, |passed| passed + 1);
        self.failed.range(above..).next().copied()
    }

    /// Somebody on the way said that this much passes: worth a try, no more.
    pub fn hint(&mut self, size: u32) {
        self.hint = Some(size);
    }

    /// A packet of this size arrived.
    pub fn arrived(&mut self, size: u32) {
        self.passed = self.passed.max(Some(size));
        // Larger than what failed: that failure was a loss.
        self.failed = self.failed.split_off(&size);
        self.failed.remove(&size);
    }

    /// Several packets of this size were sent and none arrived.
    pub fn vanished(&mut self, size: u32) {
        if self.passed.is_none_or(|passed| size > passed) {
            let again = !self.failed.insert(size);
            if again && self.next_above() == Some(size) {
                self.confirmed = Some(size);
            }
        }
    }

    /// The kernel does not take packets of this size.
    pub fn refused(&mut self, size: u32) {
        self.refused = Some(self.refused.map_or(size, |smallest| smallest.min(size)));
    }

    /// The size right above the largest that passed, when there is one to try.
    fn next_above(&self) -> Option<u32> {
        let next = self.passed? + 1;
        (next <= self.full && self.refused.is_none_or(|refused| next < refused)).then_some(next)
    }

    /// The smallest size that is thought not to pass.
    fn bound(&self) -> u32 {
        let failed = self.silent().unwrap_or(self.full + 1);
        failed.min(self.refused.unwrap_or(self.full + 1))
    }

    /// The sizes to try now, ascending; none when the search is over.
    pub fn round(&mut self) -> Vec<u32> {
        let Some(passed) = self.passed else {
            // A healthy path is found so in one round trip; the small one tells its time.
            // A far end that does not answer may just be busy.
            self.unheard += 1;
            return match self.unheard {
                ..=UNHEARD => BTreeSet::from([self.floor, self.full])
                    .into_iter()
                    .collect(),
                _ => Vec::new(),
            };
        };
        let bound = self.bound();
        let Some(next) = self.next_above() else {
            return Vec::new();
        };
        if next < bound {
            let room = bound - passed;
            let steps = room.min(AT_ONCE + 1);
            let mut sizes: BTreeSet<u32> = (1..steps).map(|i| passed + room * i / steps).collect();
            for hint in self.hint.iter().flat_map(|hint| [*hint, hint + 1]) {
                if (next..bound).contains(&hint) {
                    sizes.insert(hint);
                }
            }
            return sizes.into_iter().collect();
        }
        if self.confirmed == Some(next) {
            Vec::new()
        } else {
            vec![next]
        }
    }
}
