//! Which tgtd it is, and its end.

use std::io::ErrorKind;

use hawser_tool::processes::Process;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};

/// Which tgtd it is: whatever another one had is not in this one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instance {
    /// Its process.
    pub pid: i32,
    /// When that was started, in the kernel's ticks since boot; 0 when it is not known.
    pub since: u64,
}

impl Instance {
    /// The one that has this process number now.
    pub(super) fn of(pid: i32) -> Self {
        let since = since(pid);
        Self { pid, since }
    }

    /// Ends it, if it still runs. A process that waits for a disk goes on until the disk answers.
    pub fn end(self) -> std::io::Result<()> {
        let Some(pid) = Pid::from_raw(self.pid) else {
            return Err(ErrorKind::InvalidInput.into());
        };
        // By a descriptor: the number may come to mean another process at any time.
        let process = match pidfd_open(pid, PidfdFlags::empty()) {
            Err(rustix::io::Errno::SRCH) => return Ok(()),
            process => process?,
        };
        if !self.runs() {
            return Ok(());
        }
        match pidfd_send_signal(&process, Signal::KILL) {
            Err(rustix::io::Errno::SRCH) => Ok(()),
            sent => Ok(sent?),
        }
    }

    /// Whether the process of this number is still the one that was started then.
    pub fn runs(self) -> bool {
        self.since != 0 && since(self.pid) == self.since
    }
}

/// When a process was started (proc_pid_stat(5), `starttime`).
fn since(pid: i32) -> u64 {
    Process::of(pid).map_or(0, |process| process.began)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_told_from_a_later_one_of_its_number() {
        let own = Instance::of(nix::unistd::getpid().as_raw());
        assert!(own.runs() && Instance::of(1).since < own.since);
        let earlier = Instance {
            since: own.since - 1,
            ..own
        };
        assert!(!earlier.runs());
        // It is another one that has the number: it is left alone.
        earlier.end().unwrap();
    }
}
