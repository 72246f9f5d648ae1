//! Tools that could not even be killed, since they wait for a disk. One is not started again before it has ended: asked each minute,
//! a disk that hangs for a night would take all processes that this program may have.

use std::collections::BTreeSet;
use std::process::{Child, Command};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

/// Their commands.
static STUCK: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// A command with its arguments, by which it is known again.
pub fn name(command: &Command) -> String {
    format!("{command:?}")
}

/// Whether an earlier run of this command has not ended yet.
pub fn is(name: &str) -> bool {
    stuck().contains(name)
}

/// Leaves a child that was killed to a thread that takes its end.
pub fn leave(name: String, mut child: Child) {
    stuck().insert(name.clone());
    let own = name.clone();
    let wait = move || {
        let _ended = child.wait();
        stuck().remove(&own);
    };
    // Without a thread it stays a zombie until this program ends.
    if thread::Builder::new().spawn(wait).is_err() {
        stuck().remove(&name);
    }
}

fn stuck() -> MutexGuard<'static, BTreeSet<String>> {
    STUCK.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;

    use super::*;
    use crate::{Deadline, Launch, Tool, ToolError};

    #[test]
    fn a_tool_that_cannot_be_ended_is_not_started_again_until_it_has() {
        let tool = || Tool::new("sh").args(["-c", "echo a tool that is stuck"]);
        let stuck = Launch::new("sleep").arg("600").daemon().unwrap();
        let pid = Pid::from_raw(i32::try_from(stuck.id()).unwrap());
        leave(name(&tool().launch.command), stuck);
        let silent = tool().limit(Duration::from_secs(60)).output();
        assert!(
            matches!(silent, Err(ToolError::Silent { .. })),
            "{silent:?}"
        );
        // Others are.
        Tool::new("true").text().unwrap();
        kill(pid, Signal::SIGKILL).unwrap();
        let until = Deadline::after(Duration::from_secs(60));
        assert!(until.holds(Duration::from_millis(1), || tool().text().is_ok()));
    }
}
