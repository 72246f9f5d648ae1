//! Waiting for a socket, and being told to stop while waiting.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use hawser_model::units::{Nanos, Packets};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::time::TimeSpec;

use crate::clock;
use crate::error::WireError;

/// Tells a reading thread that no more is to come.
#[derive(Clone, Debug)]
pub(crate) struct Stop(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    told: AtomicBool,
    settle: AtomicU64,
    expected: AtomicU64,
    wake: EventFd,
}

impl Stop {
    pub(crate) fn new() -> Result<Self, WireError> {
        let wake = EventFd::from_value_and_flags(0, EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)
            .map_err(WireError::call("eventfd", "of a reading thread"))?;
        Ok(Self(Arc::new(Inner {
            told: AtomicBool::new(false),
            settle: AtomicU64::new(0),
            expected: AtomicU64::new(u64::MAX),
            wake,
        })))
    }

    /// This many packets are all that can come.
    pub(crate) fn expect(&self, packets: Packets) {
        self.0.expected.store(packets.0, Ordering::Relaxed);
    }

    /// How many can come, once it was told.
    pub(crate) fn expected(&self) -> Option<Packets> {
        let packets = self.0.expected.load(Ordering::Relaxed);
        (packets != u64::MAX).then_some(Packets(packets))
    }

    /// Stop once nothing has come for `settle`.
    pub(crate) fn tell(&self, settle: Nanos) {
        self.0.settle.store(settle.0, Ordering::Relaxed);
        self.0.told.store(true, Ordering::Release);
        // The counter cannot overflow from one write, so the only error is impossible.
        let _ = self.0.wake.write(1);
    }

    /// The quiet time to wait for, once it was told.
    pub(crate) fn told(&self) -> Option<Nanos> {
        self.0
            .told
            .load(Ordering::Acquire)
            .then(|| Nanos(self.0.settle.load(Ordering::Relaxed)))
    }

    /// Waits until the socket is readable (true), or told to stop, or, once that was told,
    /// until `until`.
    pub(crate) fn wait(&self, socket: BorrowedFd<'_>, until: Option<Nanos>) -> bool {
        let mut both = [
            PollFd::new(socket, PollFlags::POLLIN),
            PollFd::new(self.0.wake.as_fd(), PollFlags::POLLIN),
        ];
        let (waited_on, left) = match until {
            // The wake-up stays readable for ever once told: leave it out.
            Some(until) => (&mut both[..1], Some(until.saturating_sub(clock::now()))),
            None => (&mut both[..], None),
        };
        let left =
            left.map(|n| TimeSpec::new((n.0 / 1_000_000_000) as i64, (n.0 % 1_000_000_000) as i64));
        // An interrupted wait is one that found nothing: the caller comes back.
        let _ = ppoll(waited_on, left, None);
        both[0].any().unwrap_or(false)
    }
}
