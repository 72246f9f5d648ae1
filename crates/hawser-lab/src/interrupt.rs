//! Ctrl-C between two steps instead of in the middle of one.

use std::cell::Cell;

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

use crate::error::LabError;

/// Holds back SIGINT, SIGTERM and SIGHUP for the rest of the process, so that a change to a lab
/// is finished or taken back rather than left half done.
#[derive(Debug)]
pub struct Interrupt {
    held: SignalFd,
    seen: Cell<u32>,
}

impl Interrupt {
    /// Begins to hold the signals back. Call it before any thread is started.
    ///
    /// # Errors
    /// What `sigprocmask` or `signalfd` says.
    pub fn hold() -> Result<Self, LabError> {
        let mut set = SigSet::empty();
        for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
            set.add(signal);
        }
        set.thread_block()
            .map_err(|e| LabError::system("sigprocmask", "this process", e))?;
        let held = SignalFd::with_flags(&set, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)
            .map_err(|e| LabError::system("signalfd", "this process", e))?;
        Ok(Self {
            held,
            seen: Cell::new(0),
        })
    }

    /// Whether one of the signals has come.
    pub fn requested(&self) -> bool {
        self.times() > 0
    }

    /// How many of the signals have come.
    pub fn times(&self) -> u32 {
        while matches!(self.held.read_signal(), Ok(Some(_))) {
            self.seen.set(self.seen.get().saturating_add(1));
        }
        self.seen.get()
    }
}
