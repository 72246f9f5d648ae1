//! The processes of a node, as this machine sees them: told by their PID namespace.

use std::fs;

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::error::DrillError;
use crate::stage::Stage;

/// A process of a node.
#[derive(Clone, Debug)]
pub(crate) struct Process {
    pid: i32,
    /// Its name, of 15 characters at most (`/proc/PID/comm`).
    pub name: String,
    /// Its state letter (proc(5)): `T` is stopped.
    pub state: char,
}

impl Process {
    /// Whether it is the same one.
    pub fn is(&self, other: &Self) -> bool {
        self.pid == other.pid
    }

    /// Whether it has mapped what `has` looks for. One that has ended meanwhile needs not.
    pub fn maps(&self, has: impl Fn(i32) -> std::io::Result<bool>) -> bool {
        has(self.pid).unwrap_or(true)
    }

    /// Sends it a signal. One that has ended meanwhile needs none.
    pub fn signal(&self, signal: Signal) -> Result<(), DrillError> {
        match kill(Pid::from_raw(self.pid), signal) {
            Ok(()) | Err(Errno::ESRCH) => Ok(()),
            Err(e) => Err(DrillError::CouldNot(format!(
                "{signal} to {}: {e}",
                self.name
            ))),
        }
    }
}

/// All of a running node, its first one included; none of one that is off.
pub(crate) fn of_node(stage: &Stage<'_>, node: &str) -> Result<Vec<Process>, DrillError> {
    let lab = stage.lab()?;
    if !lab.running().iter().any(|name| name.as_str() == node) {
        return Ok(Vec::new());
    }
    let namespace = |pid: i32| fs::read_link(format!("/proc/{pid}/ns/pid")).ok();
    let Some(wanted) = namespace(lab.process(node)?) else {
        return Ok(Vec::new());
    };
    let entries = fs::read_dir("/proc").map_err(|e| DrillError::io("read", "/proc", e))?;
    let pids = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let theirs = pids.filter(|pid| namespace(*pid).as_ref() == Some(&wanted));
    Ok(theirs.filter_map(read).collect())
}

/// The processes of that name.
pub(crate) fn named(stage: &Stage<'_>, node: &str, name: &str) -> Result<Vec<Process>, DrillError> {
    let short: String = name.chars().take(15).collect();
    let mut all = of_node(stage, node)?;
    all.retain(|process| process.name == short && process.state != 'Z');
    Ok(all)
}

fn read(pid: i32) -> Option<Process> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name is in parentheses and may hold some itself.
    let (begin, end) = (stat.find('(')?, stat.rfind(')')?);
    Some(Process {
        pid,
        name: stat.get(begin + 1..end)?.to_owned(),
        state: stat.get(end + 1..)?.trim_start().chars().next()?,
    })
}
