//! Work that may never end, because a disk hangs, on a thread of its own.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

/// Does this on a thread of its own and waits so long; `None`: it lasts longer, or an earlier one still lasts.
pub(super) fn aside<T: Send + 'static>(
    lasts: &'static AtomicBool,
    limit: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    if lasts.swap(true, Ordering::AcqRel) {
        return None;
    }
    let (end, ended) = channel();
    let work = move || {
        let outcome = work();
        lasts.store(false, Ordering::Release);
        let _nobody_waits = end.send(outcome);
    };
    if thread::Builder::new().spawn(work).is_err() {
        lasts.store(false, Ordering::Release);
    }
    ended.recv_timeout(limit).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hangs_is_waited_for_once_and_by_nobody_else() {
        static LASTS: AtomicBool = AtomicBool::new(false);
        let (go, goes) = channel::<()>();
        let (end, ended) = channel();
        let hangs = move || {
            let _ended = goes.recv();
            let _nobody = end.send(());
        };
        assert_eq!(aside(&LASTS, Duration::from_millis(10), hangs), None);
        assert_eq!(aside(&LASTS, Duration::from_secs(3600), || ()), None);
        drop(go);
        ended.recv().unwrap();
        while LASTS.load(Ordering::Acquire) {
            thread::yield_now();
        }
        assert_eq!(aside(&LASTS, Duration::from_secs(3600), || 7), Some(7));
    }
}
