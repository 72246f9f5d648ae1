//! Work that may never end, because a disk hangs, on a thread of its own.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use hawser_host::Clock;

/// How often it is seen whether an earlier one has ended.
const STEP: Duration = Duration::from_millis(10);

/// Work of one kind, one after the other.
pub(super) struct Aside(AtomicU8);

const FREE: u8 = 0;
const LASTS: u8 = 1;
/// It lasts, and who wanted it has given it up.
const HANGS: u8 = 2;

struct Hangs;

impl Aside {
    pub(super) const fn new() -> Self {
        Self(AtomicU8::new(FREE))
    }

    /// Does this on a thread of its own, after an earlier one has ended, and waits so long for each of the two; `None`: one of them
    /// lasts longer. While one that was given up lasts, nobody waits: many would, one after the other.
    pub(super) fn work<T: Send + 'static>(
        &'static self,
        limit: Duration,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let becomes = |from, to| {
            let Self(state) = self;
            state.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire)
        };
        let free = || match becomes(FREE, LASTS) {
            Err(HANGS) => Err(Hangs),
            begun => Ok(begun.is_ok()),
        };
        let Ok(true) = Clock::default().wait(limit, STEP, free) else {
            return None;
        };
        let (end, ended) = channel();
        let work = move || {
            let outcome = work();
            self.0.store(FREE, Ordering::Release);
            let _nobody_waits = end.send(outcome);
        };
        if thread::Builder::new().spawn(work).is_err() {
            self.0.store(FREE, Ordering::Release);
            return None;
        }
        let outcome = ended.recv_timeout(limit).ok();
        if outcome.is_none() {
            let _has_ended = becomes(LASTS, HANGS);
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(3600);

    #[test]
    fn what_hangs_is_waited_for_once_and_no_longer_than_wanted() {
        static DISK: Aside = Aside::new();
        let (go, goes) = channel::<()>();
        let hangs = move || {
            let _ended = goes.recv();
        };
        assert_eq!(DISK.work(Duration::from_millis(10), hangs), None);
        assert_eq!(DISK.work(LONG, || ()), None);
        drop(go);
        while DISK.0.load(Ordering::Acquire) != FREE {
            thread::yield_now();
        }
        assert_eq!(DISK.work(LONG, || 7), Some(7));
    }

    #[test]
    fn all_who_come_while_one_lasts_are_served_after_it() {
        static DISK: Aside = Aside::new();
        let (begin, begun) = channel();
        let (go, goes) = channel::<()>();
        let lasts = move || {
            begin.send(()).unwrap();
            let _ended = goes.recv();
        };
        let first = thread::spawn(move || DISK.work(LONG, lasts));
        begun.recv().unwrap();
        let next = [7, 8].map(|n| thread::spawn(move || DISK.work(LONG, move || n)));
        drop(go);
        assert_eq!(first.join().unwrap(), Some(()));
        assert_eq!(next.map(|next| next.join().unwrap()), [Some(7), Some(8)]);
    }
}
