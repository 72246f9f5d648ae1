//! The wish that a running request ends early, and waiting for it.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What is known of a request, seen by everybody who holds a clone. It changes once.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    shared: Arc<(Mutex<Progress>, Condvar)>,
}

/// How a request goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Progress {
    /// It is being worked on.
    #[default]
    Running,
    /// It shall end early.
    Stopped,
    /// It has ended by itself.
    Over,
}

impl Stop {
    /// Wishes an early end; of no consequence when the request is over.
    pub fn raise(&self) {
        self.change(Progress::Stopped);
    }

    /// Notes that the request has ended, for those who wait beside it.
    pub fn over(&self) {
        self.change(Progress::Over);
    }

    /// Waits until the request is no longer running, at most so long.
    pub fn wait(&self, at_most: Duration) -> Progress {
        let deadline = Instant::now() + at_most;
        let mut progress = self.lock();
        while *progress == Progress::Running {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            progress = self
                .shared
                .1
                .wait_timeout(progress, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        *progress
    }

    fn change(&self, to: Progress) {
        let mut progress = self.lock();
        if *progress == Progress::Running {
            *progress = to;
            self.shared.1.notify_all();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Progress> {
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
