//! The process that makes trial changes, told from any later one of the same number.

use hawser_tool::processes::Process;
use serde::{Deserialize, Serialize};

use crate::{KernelError, proc};

/// A process on one boot of a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// Process id.
    pub pid: u32,
    /// Start time, in ticks since boot (`proc_pid_stat(5)`, field 22).
    pub start: u64,
    /// `/proc/sys/kernel/random/boot_id`.
    pub boot: String,
}

impl Owner {
    /// The calling process.
    ///
    /// # Errors
    /// `/proc` cannot be read.
    pub fn own() -> Result<Self, KernelError> {
        let pid = std::process::id();
        Ok(Self {
            pid,
            start: start(pid).ok_or_else(|| {
                KernelError::Absent(format!("/proc/{pid}/stat: no start time in it"))
            })?,
            boot: proc::boot_id()?,
        })
    }

    /// Whether it still runs.
    pub fn lives(&self) -> bool {
        self.of_this_boot() && start(self.pid) == Some(self.start)
    }

    /// Whether it ran since the host booted.
    pub fn of_this_boot(&self) -> bool {
        proc::boot_id().is_ok_and(|boot| boot == self.boot)
    }
}

/// The start time of a process that is not a zombie.
fn start(pid: u32) -> Option<u64> {
    let process = Process::of(i32::try_from(pid).ok()?)?;
    (!process.is_dead()).then_some(process.began)
}
