//! Waiting for what comes by itself.

use std::thread;
use std::time::{Duration, Instant};

/// Asks until the answer is yes, or it has been long enough.
pub fn eventually(patience: Duration, mut yes: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + patience;
    loop {
        if yes() {
            return true;
        }
        if Instant::now() >= deadline {
            return false;
        }
        thread::sleep(Duration::from_millis(20));
    }
}
