//! The wish that a running request ends early, and waiting for it.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Raised once, seen by everybody who holds a clone.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    shared: Arc<(Mutex<bool>, Condvar)>,
}

impl Stop {
    /// Raises it.
    pub fn raise(&self) {
        *self.lock() = true;
        self.shared.1.notify_all();
    }

    /// Whether it was raised.
    pub fn raised(&self) -> bool {
        *self.lock()
    }

    /// Waits until it is raised, at most so long; answers whether it was.
    pub fn wait(&self, at_most: Duration) -> bool {
        let deadline = Instant::now() + at_most;
        let mut raised = self.lock();
        while !*raised {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            raised = self
                .shared
                .1
                .wait_timeout(raised, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        true
    }

    fn lock(&self) -> MutexGuard<'_, bool> {
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
