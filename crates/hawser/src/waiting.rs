//! Work that may take long without a word.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use crate::output::error_line;

/// The longest wait without a message.
const SILENT: Duration = Duration::from_millis(1500);

/// Does the work; if that is not done soon, says on standard error what is waited for.
pub fn aloud<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let (end, ended) = channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            if ended.recv_timeout(SILENT) == Err(RecvTimeoutError::Timeout) {
                error_line(&format!("waiting: {what}"));
            }
        });
        let done = work();
        drop(end);
        done
    })
}
