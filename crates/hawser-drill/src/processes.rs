//! The processes of a node, as this machine sees them: told by their PID namespace.

use hawser_tool::processes;
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::error::DrillError;
use crate::stage::Stage;

/// A process of a node.
#[derive(Clone, Debug)]
pub(crate) struct Process {
    pub of: processes::Process,
}

impl Process {
    /// Whether it is the same one.
    pub fn is(&self, other: &Self) -> bool {
        self.of.is(&other.of)
    }

    /// Whether it has mapped what `has` looks for. One that has ended meanwhile needs not.
    pub fn maps(&self, has: impl Fn(i32) -> std::io::Result<bool>) -> bool {
        has(self.of.pid).unwrap_or(true)
    }

    /// Sends it a signal. One that has ended meanwhile needs none.
    pub fn signal(&self, signal: Signal) -> Result<(), DrillError> {
        match kill(Pid::from_raw(self.of.pid), signal) {
            Ok(()) | Err(Errno::ESRCH) => Ok(()),
            Err(e) => Err(DrillError::CouldNot(format!(
                "{signal} to {}: {e}",
                self.of.name
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
    let init = processes::Process::of(lab.process(node)?);
    let Some(wanted) = init.and_then(|init| init.namespace("pid")) else {
        return Ok(Vec::new());
    };
    let all = processes::all().map_err(|e| DrillError::io("read", "/proc", e))?;
    let theirs = all
        .into_iter()
        .filter(|process| process.namespace("pid").as_ref() == Some(&wanted));
    Ok(theirs.map(|of| Process { of }).collect())
}

/// The processes of that name.
pub(crate) fn named(stage: &Stage<'_>, node: &str, name: &str) -> Result<Vec<Process>, DrillError> {
    let mut all = of_node(stage, node)?;
    all.retain(|process| process.of.is_called(name) && !process.of.is_dead());
    Ok(all)
}
