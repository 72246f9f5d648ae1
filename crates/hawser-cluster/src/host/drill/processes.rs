//! Programs of this head that are killed, stopped, or go on.

use std::time::Duration;

use hawser_tool::Deadline;
use hawser_tool::processes::{Process, own, own_of};
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::{How, Program};
use crate::host::NodeError;

/// A killed process may take so long to be gone.
const ENDS: Duration = Duration::from_secs(5);

/// Why it cannot be hit here; nothing if it can.
pub(super) fn unfit(program: Program) -> Option<String> {
    let name = program.name();
    own(name).is_empty().then(|| format!("{name} {RUNS_NOT}"))
}

const RUNS_NOT: &str = "does not run here";

pub(super) fn hit(program: Program, how: How) -> Result<(), NodeError> {
    let name = program.name();
    let hit = own(name);
    if hit.is_empty() {
        return Err(failed(name, RUNS_NOT));
    }
    let signal = match how {
        How::Killed => Signal::SIGKILL,
        How::Stopped => Signal::SIGSTOP,
    };
    for process in &hit {
        send(name, process, signal)?;
    }
    if how == How::Stopped {
        return Ok(());
    }
    // Another one of that name may be started at once; those that were hit must be gone.
    let gone = || !hit.iter().any(|old| own(name).iter().any(|it| it.is(old)));
    match Deadline::after(ENDS).holds(Duration::from_millis(10), gone) {
        true => Ok(()),
        false => Err(failed(name, "it was killed and is still there")),
    }
}

pub(super) fn shown(program: Program, how: How) -> Result<Option<String>, NodeError> {
    let name = program.name();
    let all = own(name);
    Ok(match how {
        // It was made only when those that ran were seen to be gone.
        How::Killed => Some(match all.is_empty() {
            true => format!("{name} was killed and does not run"),
            false => format!("{name} was killed and was started again"),
        }),
        How::Stopped => (!all.is_empty() && all.iter().all(|process| process.state == 'T'))
            .then(|| format!("{name} is stopped (SIGSTOP)")),
    })
}

/// Lets a program go on. False: there is none any more, since somebody ended what hung.
pub(super) fn go_on(program: Program) -> Result<bool, NodeError> {
    let name = program.name();
    let all = own(name);
    for process in &all {
        send(name, process, Signal::SIGCONT)?;
    }
    Ok(!all.is_empty())
}

/// For how long Pacemaker has been running: its controller starts pools also when its first process has died.
pub(super) fn engine_age() -> Option<Duration> {
    age(&[Program::Pacemakerd, Program::Controld].map(Program::name))
}

/// For how long the oldest process of these names has been running.
fn age(names: &[&str]) -> Option<Duration> {
    let ages = own_of(names)
        .into_iter()
        .filter_map(|process| process.age());
    ages.max()
}

fn send(name: &str, process: &Process, signal: Signal) -> Result<(), NodeError> {
    match kill(Pid::from_raw(process.pid), signal) {
        // One that has ended meanwhile needs none.
        Ok(()) | Err(Errno::ESRCH) => Ok(()),
        Err(e) => Err(failed(name, &format!("{signal}: {e}"))),
    }
}

fn failed(name: &str, said: &str) -> NodeError {
    NodeError::Tool {
        command: name.to_owned(),
        said: said.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_run_cannot_be_hit() {
        // Nothing on the machine of a test is named as the kernel would never name it.
        assert!(own("no-such-program").is_empty());
        assert_eq!(age(&["no-such-program"]), None);
    }
}
