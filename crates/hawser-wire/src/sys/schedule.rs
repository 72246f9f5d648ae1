//! The calling thread's scheduling class.

use nix::errno::Errno;

/// Puts the calling thread under `SCHED_RR`, priority 1.
pub(crate) fn realtime() -> Result<(), Errno> {
    let parameters = libc::sched_param { sched_priority: 1 };
    // SAFETY: pid 0 is the calling thread; the parameters outlive the call.
    let result = unsafe { libc::sched_setscheduler(0, libc::SCHED_RR, &raw const parameters) };
    Errno::result(result).map(drop)
}
