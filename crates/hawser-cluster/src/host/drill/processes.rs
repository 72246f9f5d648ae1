//! Programs of this head that are killed, stopped, or go on.

use std::fs;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::{Pid, SysconfVar, sysconf};

use super::{How, Program};
use crate::host::HostError;

/// A killed process may take so long to be gone.
const ENDS: Duration = Duration::from_secs(5);

/// A process of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Process {
    pid: i32,
    /// Its state letter (proc(5)): `T` is stopped, `Z` has ended.
    state: char,
    /// When it began, in clock ticks since the boot.
    began: u64,
}

pub(super) fn hit(program: Program, how: How) -> Result<(), HostError> {
    let name = program.name();
    let hit = named(name);
    if hit.is_empty() {
        return Err(failed(name, "it does not run here"));
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
    let deadline = Instant::now() + ENDS;
    while hit
        .iter()
        .any(|old| named(name).iter().any(|it| same(it, old)))
    {
        if Instant::now() > deadline {
            return Err(failed(name, "it was killed and is still there"));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

pub(super) fn shown(program: Program, how: How) -> Result<Option<String>, HostError> {
    let name = program.name();
    let all = named(name);
    Ok(match how {
        // It was made only when those that ran were seen to be gone.
        How::Killed => Some(match all.is_empty() {
            true => format!("{name} was killed and does not run"),
            false => format!("{name} was killed and was started anew"),
        }),
        How::Stopped => (!all.is_empty() && all.iter().all(|process| process.state == 'T'))
            .then(|| format!("{name} stands still")),
    })
}

pub(super) fn go_on(program: Program) -> Result<(), HostError> {
    let name = program.name();
    let mut all = named(name).into_iter();
    all.try_for_each(|process| send(name, &process, Signal::SIGCONT))
}

/// For how long the oldest process of that name has been running.
pub(super) fn age(name: &str) -> Option<Duration> {
    let began = named(name).iter().map(|process| process.began).min()?;
    let ticks = sysconf(SysconfVar::CLK_TCK).ok()??;
    let began = Duration::from_secs_f64(began as f64 / ticks as f64);
    let now = Duration::from(clock_gettime(ClockId::CLOCK_BOOTTIME).ok()?);
    Some(now.saturating_sub(began))
}

fn same(one: &Process, other: &Process) -> bool {
    (one.pid, one.began) == (other.pid, other.began)
}

fn send(name: &str, process: &Process, signal: Signal) -> Result<(), HostError> {
    match kill(Pid::from_raw(process.pid), signal) {
        // One that has ended meanwhile needs none.
        Ok(()) | Err(Errno::ESRCH) => Ok(()),
        Err(e) => Err(failed(name, &format!("{signal}: {e}"))),
    }
}

fn failed(name: &str, said: &str) -> HostError {
    HostError::Tool {
        command: name.to_owned(),
        said: said.to_owned(),
    }
}

/// Those of this machine that live; not those of containers and labs on it, which have process numbers
/// of their own.
fn named(name: &str) -> Vec<Process> {
    let space = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/pid")).ok();
    let own = space("self");
    // The kernel keeps 15 letters (TASK_COMM_LEN).
    let short: String = name.chars().take(15).collect();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let pid = entry.file_name().into_string().ok()?;
            let number = pid.parse().ok()?;
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            let (comm, state, began) = parse(&stat)?;
            let ours = comm == short && state != 'Z' && space(&pid) == own;
            ours.then_some(Process {
                pid: number,
                state,
                began,
            })
        })
        .collect()
}

/// Name, state and beginning in `/proc/PID/stat` (proc(5): fields 2, 3 and 22).
fn parse(stat: &str) -> Option<(&str, char, u64)> {
    // The name is in parentheses and may hold some itself.
    let (begin, end) = (stat.find('(')?, stat.rfind(')')?);
    let mut rest = stat.get(end + 1..)?.split_whitespace();
    let state = rest.next()?.chars().next()?;
    let began = rest.nth(18)?.parse().ok()?;
    Some((stat.get(begin + 1..end)?, state, began))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_read_whatever_it_calls_itself() {
        let stat = "42 (a) b) T 1 42 42 0 -1 4194560 100 0 0 0 3 1 0 0 20 0 1 0 7741 1000 20 184";
        assert_eq!(parse(stat), Some(("a) b", 'T', 7741)));
        assert_eq!(parse("42 (short) S 1"), None);
    }

    #[test]
    fn what_does_not_run_cannot_be_hit() {
        // Nothing on the machine of a test is named as the kernel would never name it.
        assert!(named("no-such-program").is_empty());
        assert_eq!(age("no-such-program"), None);
    }
}
