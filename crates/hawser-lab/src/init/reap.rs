//! The life of a node's first process: to reap what nobody else waits for, and to end the node
//! in good order when asked.

use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use crate::cluster::services::{self, ServiceAction};
use crate::error::LabError;

/// How long the processes of a node that is powered off have to end by themselves.
pub(crate) const SOFT_OFF: Duration = Duration::from_secs(5);

/// How long a head's pools have to stop before that.
pub(crate) const STOPS_POOLS: Duration = Duration::from_secs(120);

/// Reaps until `SIGTERM` comes, then ends every process of the node and returns.
pub(super) fn until_told_to_end(node: &str, head: bool) -> Result<(), LabError> {
    // Blocked signals reach even process 1, which the kernel shields from unhandled ones.
    let mut awaited = SigSet::empty();
    awaited.add(Signal::SIGCHLD);
    awaited.add(Signal::SIGTERM);
    let failed = |call| move |e| LabError::system(call, "process 1", e);
    awaited.thread_block().map_err(failed("sigprocmask"))?;
    loop {
        reap();
        match awaited.wait() {
            Ok(Signal::SIGTERM) => break,
            Ok(_) | Err(Errno::EINTR) => {}
            Err(e) => return Err(failed("sigwait")(e)),
        }
    }
    eprintln!("{node}: asked to power off");
    if head {
        stop_cluster()?;
    }
    let everybody = Pid::from_raw(-1);
    let deadline = Instant::now() + SOFT_OFF;
    let _nobody = kill(everybody, Signal::SIGTERM);
    // Signal 0 asks whether anybody is left to be signalled (kill(2)).
    while kill(everybody, None).is_ok() && Instant::now() < deadline {
        reap();
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// Stops the cluster on a head before everything else is ended, so that its pools move in good order.
fn stop_cluster() -> Result<(), LabError> {
    super::service(ServiceAction::Stop)?;
    let deadline = Instant::now() + STOPS_POOLS;
    while services::cluster_runs() && Instant::now() < deadline {
        reap();
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// Reaps all children that have ended.
fn reap() {
    loop {
        match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::StillAlive) | Err(Errno::ECHILD) => return,
            Ok(_) | Err(Errno::EINTR) => {}
            Err(_) => return,
        }
    }
}
