//! Work that may never end, because a disk hangs, on a thread of its own.

use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use hawser_host::Clock;

/// How often it is seen whether an earlier one has ended.
const STEP: Duration = Duration::from_millis(10);

/// Does this on a thread of its own, after an earlier one has ended, and waits so long for each of the two; `None`: one of them
/// lasts longer.
pub(super) fn aside<T: Send + 'static>(
    lasts: &'static AtomicBool,
    limit: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let free = || Ok::<_, Infallible>(!lasts.swap(true, Ordering::AcqRel));
    let Ok(true) = Clock::default().wait(limit, STEP, free) else {
        return None;
    };
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
    fn what_hangs_is_waited_for_no_longer_than_wanted_and_its_end_lets_the_next_one_in() {
        static LASTS: AtomicBool = AtomicBool::new(false);
        let (go, goes) = channel::<()>();
        let (end, ended) = channel();
        let hangs = move || {
            let _ended = goes.recv();
            let _nobody = end.send(());
        };
        assert_eq!(aside(&LASTS, Duration::from_millis(10), hangs), None);
        assert_eq!(aside(&LASTS, Duration::from_millis(30), || ()), None);
        // Two who come while it lasts are both served in the end.
        let next = [7, 8]
            .map(|n| thread::spawn(move || aside(&LASTS, Duration::from_secs(3600), move || n)));
        drop(go);
        ended.recv().unwrap();
        let served = next.map(|next| next.join().unwrap());
        assert_eq!(served, [Some(7), Some(8)]);
    }
}
