//! A node on which nothing runs: all of its processes are stopped.

use std::collections::BTreeSet;

use hawser_host::site::SiteError;
use hawser_tool::processes::Process;
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Stops all processes of a node.
pub(super) fn stop(
    processes: impl Fn() -> Result<Vec<Process>, SiteError>,
) -> Result<(), SiteError> {
    // One that forks while it is looked for leaves a child that runs: again, until there is none.
    for _ in 0..10 {
        let mut running = by_themselves(processes()?);
        running.retain(|process| !is_still(process));
        if running.is_empty() {
            break;
        }
        for process in running {
            signal(&process, Signal::SIGSTOP)?;
        }
    }
    Ok(())
}

/// Those that are traced by none of the others. The programs of a machine are processes that its kernel traces: none of
/// their system calls happens unless that goes on (ptrace(2)), and it would take a signal for a fault of theirs.
pub(super) fn by_themselves(mut all: Vec<Process>) -> Vec<Process> {
    let here: BTreeSet<i32> = all.iter().map(|process| process.pid).collect();
    all.retain(|process| !process.tracer().is_some_and(|it| here.contains(&it)));
    all
}

/// Whether it is stopped, or has ended.
pub(super) fn is_still(process: &Process) -> bool {
    matches!(process.state, 'T' | 'Z')
}

/// Sends it a signal. One that has ended meanwhile needs none.
pub(super) fn signal(process: &Process, signal: Signal) -> Result<(), SiteError> {
    match kill(Pid::from_raw(process.pid), signal) {
        Ok(()) | Err(Errno::ESRCH) => Ok(()),
        Err(e) => Err(SiteError::for_good(format!(
            "{signal} to {}: {e}",
            process.name
        ))),
    }
}
