//! Where tests interrupt a run: before the n-th thing that lasts, by a kill or by a full disk.

use std::cell::Cell;

use crate::KernelError;

/// How a run is interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// It ends there and then.
    Killed,
    /// This and all that follows fails.
    Failing,
}

thread_local! {
    static AFTER: Cell<Option<(usize, How)>> = const { Cell::new(None) };
}

/// Interrupts after so many things that last; `None` for never.
pub(super) fn after(things: Option<(usize, How)>) {
    AFTER.set(things);
}

pub(crate) fn lasting() -> Result<(), KernelError> {
    match AFTER.get() {
        None => Ok(()),
        Some((0, How::Killed)) => {
            AFTER.set(None);
            std::panic::panic_any(How::Killed);
        }
        Some((0, How::Failing)) => Err(KernelError::Absent("no space left".to_owned())),
        Some((things, how)) => {
            AFTER.set(Some((things - 1, how)));
            Ok(())
        }
    }
}
