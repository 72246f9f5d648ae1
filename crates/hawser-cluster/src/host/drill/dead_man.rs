//! The dead man's handle: a process beside the agent that mends a fault when the agent is gone, however it
//! went, or when nobody has mended it in time.
//!
//! It holds the reading end of a pipe whose writing end only the agent has. The kernel closes that when the
//! agent ends, `kill -9` included, and an agent ends when its connection does.

use std::io::Read;
use std::sync::Mutex;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use hawser_tool::{Companion, Launch, insist, outlive_the_login};
use serde::{Deserialize, Serialize};

use super::HostFault;
use crate::host::NodeError;

/// The word after `hawser agent` that makes it one.
const WORD: &str = "--dead-man";

/// What it says when it stands.
const READY: &str = "ready";

/// Those that stand beside this process.
static STANDING: Mutex<Vec<(HostFault, Companion)>> = Mutex::new(Vec::new());

/// What it is told, as an argument: nothing of it is a secret.
#[derive(Debug, Serialize, Deserialize)]
struct Handle {
    fault: HostFault,
    seconds: u32,
}

/// One stands, or no fault is made.
pub(in crate::host) fn stand(fault: &HostFault, seconds: u32) -> Result<(), NodeError> {
    let handle = Handle {
        fault: fault.clone(),
        seconds,
    };
    let handle = serde_json::to_string(&handle).map_err(|e| error(e.to_string()))?;
    let own = std::env::current_exe().map_err(|e| error(e.to_string()))?;
    let stands = Launch::new(own).args(["agent", WORD, &handle]);
    let stands = stands.companion(READY).map_err(|e| error(e.reason()))?;
    standing().push((fault.clone(), stands));
    Ok(())
}

/// The one that stands for a fault mends it and goes. Where none does, the fault is mended here: it was an
/// agent before this one that made it.
pub(in crate::host) fn dismiss(fault: &HostFault) -> Result<(), NodeError> {
    let stands = {
        let mut standing = standing();
        let place = standing.iter().position(|(stands, _)| stands == fault);
        place.map(|place| standing.swap_remove(place).1)
    };
    match stands.map(Companion::dismiss) {
        Some(Ok(status)) if status.success() => Ok(()),
        _ => fault.mend(),
    }
}

/// Runs as one: until `lifeline` ends or the time is over; then mends. `ready` is called as soon as it stands.
///
/// # Errors
/// `handle` is none; the fault could not be mended.
pub fn hold(
    handle: &str,
    mut lifeline: impl Read + Send + 'static,
    ready: impl FnOnce(),
) -> Result<(), NodeError> {
    let handle: Handle = serde_json::from_str(handle).map_err(|e| error(e.to_string()))?;
    outlive_the_login();
    let (put, take) = channel::<()>();
    std::thread::spawn(move || {
        let mut buffer = [0; 64];
        while !matches!(lifeline.read(&mut buffer), Ok(0)) {}
        drop(put);
    });
    ready();
    match take.recv_timeout(Duration::from_secs(handle.seconds.into())) {
        Ok(()) | Err(RecvTimeoutError::Disconnected | RecvTimeoutError::Timeout) => {
            insist(|| handle.fault.mend())
        }
    }
}

fn standing() -> std::sync::MutexGuard<'static, Vec<(HostFault, Companion)>> {
    STANDING.lock().unwrap_or_else(|e| e.into_inner())
}

fn error(said: String) -> NodeError {
    NodeError::Tool {
        command: format!("hawser agent {WORD}"),
        said,
    }
}
