//! Where and how a measuring thread runs: its CPU and its scheduling class.

use std::collections::BTreeMap;

use hawser_model::units::Nanos;
use nix::errno::Errno;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

use crate::sys::schedule;

/// What was asked of the kernel and not granted: the option's name and the error's.
pub(crate) type NotGranted = BTreeMap<String, String>;

/// Notes an option that was refused.
pub(crate) fn note(refused: &mut NotGranted, option: &str, result: Result<(), Errno>) {
    if let Err(error) = result {
        refused.insert(option.to_owned(), errno_name(error));
    }
}

/// An error's name as `errno.h` spells it.
pub(crate) fn errno_name(error: Errno) -> String {
    format!("{error:?}")
}

/// The errno of an I/O error.
pub(crate) fn errno(error: &std::io::Error) -> Errno {
    Errno::from_raw(error.raw_os_error().unwrap_or(0))
}

/// Prepares the calling thread: precise timers, the CPU, `SCHED_RR` priority 1.
pub(crate) fn prepare(cpu: Option<u32>, realtime: bool, refused: &mut NotGranted) {
    // The default lets a wake-up come 50 µs late: coarse against the intervals we pace.
    note(
        refused,
        "PR_SET_TIMERSLACK",
        nix::sys::prctl::set_timerslack(1),
    );
    if let Some(cpu) = cpu {
        note(refused, "cpu", pin(cpu));
    }
    if realtime {
        note(refused, "SCHED_RR", schedule::realtime());
    }
}

/// For how long the calling thread was ready to run and waited for a processor, since it began (`schedstat`, the second
/// number); absent where the kernel does not count it (no `CONFIG_SCHED_INFO`).
pub(crate) fn runnable() -> Option<Nanos> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let waited = text.split_ascii_whitespace().nth(1)?;
    waited.parse().ok().map(Nanos)
}

fn pin(cpu: u32) -> Result<(), Errno> {
    let mut set = CpuSet::new();
    set.set(cpu as usize)?;
    sched_setaffinity(Pid::from_raw(0), &set)
}
