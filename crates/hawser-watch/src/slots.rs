//! So many at a time, and no more.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What so many may hold at the same time.
#[derive(Debug)]
pub(crate) struct Slots {
    taken: AtomicUsize,
    most: usize,
}

impl Slots {
    /// So many.
    pub fn new(most: usize) -> Arc<Self> {
        Arc::new(Self {
            taken: AtomicUsize::new(0),
            most,
        })
    }

    /// One of them, free again when it is dropped; none while all are taken.
    pub fn take(self: &Arc<Self>) -> Option<Slot> {
        let more = |taken: usize| (taken < self.most).then_some(taken + 1);
        let update = self
            .taken
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, more);
        update.ok().map(|_| Slot(Arc::clone(self)))
    }
}

/// One that is taken.
#[derive(Debug)]
pub(crate) struct Slot(Arc<Slots>);

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.taken.fetch_sub(1, Ordering::AcqRel);
    }
}
