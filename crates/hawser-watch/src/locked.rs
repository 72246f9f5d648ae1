//! Locks of which nobody says that they are broken.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// What is behind a lock, also after whoever had it panicked: each of these holds what is whole at any moment.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
