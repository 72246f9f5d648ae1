//! Other programs: a [`Tool`] is run for its answer, never for longer than it is worth; a [`Launch`] goes on; [`processes`]
//! tells which run, and a [`Deadline`] how long something is waited for. Nothing else in Hawser starts a program.
//!
//! A tool that hangs must not hold who runs it: each run has a limit, in which the tool must end. It runs in a process group of
//! its own; if it does not end, that is ended as a whole: first asked (SIGTERM), then killed. What a tool that has ended leaves
//! running is not waited for, even if that has the tool's pipes.
#![forbid(unsafe_code)]

mod deadline;
mod guard;
mod launch;
pub mod processes;
mod said;
mod stuck;

pub use deadline::Deadline;
pub use guard::{insist, outlive_the_login};

use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Child, ExitStatus, Output, Stdio};
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

pub use launch::{Companion, Launch, Piped, TIED, TIED_GROUP, end_unless, leave};
use said::{Talk, Turn};

/// Administration needs more than some users' `PATH` has, and none of what they put before it.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// What every tool has in its environment.
const KNOWN: [(&str, &str); 2] = [("PATH", PATH), ("LC_ALL", "C")];

/// How long most tools may take: they answer within a second, and ten times as late on a busy machine.
const USUAL: Duration = Duration::from_secs(30);

/// How long a tool has to end after it was asked to, and after it was killed.
const GRACE: Duration = Duration::from_secs(1);

/// How often an end is looked for; the pipes of a tool that ended are closed, so this is rarely waited for.
const LOOK: Duration = Duration::from_millis(5);

/// No tool has more to say; more is a tool gone wild.
const MOST: usize = 64 << 20;

/// Why there is no output.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// It is not on this host.
    #[error("{program} is not installed")]
    Missing {
        /// Its name.
        program: String,
    },
    /// It cannot be run.
    #[error("{program}: {source}")]
    Run {
        /// Its name.
        program: String,
        /// Why.
        source: io::Error,
    },
    /// It printed more than any tool has to say, and was ended: a part of an answer is none.
    #[error("{program}: {}", self.reason())]
    Endless {
        /// Its name.
        program: String,
    },
    /// It ended, and says that it failed.
    #[error("{program}: {said}")]
    Failed {
        /// Its name.
        program: String,
        /// What it printed as an error; how it ended, if it printed nothing.
        said: String,
    },
    /// It did not end in time, and was ended, or an earlier run of it cannot even be killed.
    #[error("{program}: {}", self.reason())]
    Silent {
        /// Its name.
        program: String,
        /// How long it had.
        limit: Duration,
    },
    /// A companion ended before it stood.
    #[error("{program}: {}", self.reason())]
    Unready {
        /// Its name.
        program: String,
        /// How it ended.
        status: ExitStatus,
    },
}

impl ToolError {
    /// The same for a reader who knows which program is meant.
    pub fn reason(&self) -> String {
        match self {
            Self::Missing { .. } => "it is not installed".to_owned(),
            Self::Run { source, .. } => source.to_string(),
            Self::Failed { said, .. } => said.clone(),
            Self::Endless { .. } => format!("it printed more than {} MiB", MOST >> 20),
            // What was left of a longer time is seldom a round one.
            Self::Silent { limit, .. } => {
                let tenths = (limit.as_secs_f64() * 10.0).round();
                format!("no answer within {} s", tenths / 10.0)
            }
            Self::Unready { status, .. } => format!("it did not start: {status}"),
        }
    }
}

/// A program that is about to be run, in a known environment: a fixed `PATH`, messages in English, nothing on its
/// standard input.
#[derive(Debug)]
pub struct Tool {
    launch: Launch,
    input: Option<Vec<u8>>,
    limit: Duration,
}

impl Tool {
    /// This program, by its name or its path.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        Self {
            launch: Launch::new(program).envs(KNOWN).apart(),
            input: None,
            limit: USUAL,
        }
    }

    /// With these arguments after those that it has.
    #[must_use]
    pub fn args<S: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = S>) -> Self {
        self.launch = self.launch.args(arguments);
        self
    }

    /// With this variable beside those that every tool has.
    #[must_use]
    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.launch = self.launch.envs([(name, value)]);
        self
    }

    /// With these variables, and of all others only those that every tool has: nothing of who runs it.
    #[must_use]
    pub fn alone<'a>(mut self, variables: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        self.launch = self.launch.alone().envs(KNOWN).envs(variables);
        self
    }

    /// With this on its standard input, where no other user sees it.
    #[must_use]
    pub fn input(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.input = Some(input.into());
        self
    }

    /// For so long at most.
    #[must_use]
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Runs it, and gives what it printed if it did not fail. What is no UTF-8 is replaced.
    ///
    /// # Errors
    /// See [`ToolError`].
    pub fn text(self) -> Result<String, ToolError> {
        let program = self.launch.program.clone();
        let output = self.output()?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        match (output.status.success(), text(&output.stderr)) {
            (true, _) => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            (false, said) if said.is_empty() => Err(ToolError::Failed {
                program,
                said: output.status.to_string(),
            }),
            (false, said) => Err(ToolError::Failed { program, said }),
        }
    }

    /// Runs it, and gives what it printed and how it ended.
    ///
    /// # Errors
    /// See [`ToolError`]. A tool that ends in time is no error, whatever its exit status.
    pub fn output(self) -> Result<Output, ToolError> {
        let Self {
            mut launch,
            input,
            limit,
        } = self;
        let until = Deadline::after(limit);
        let name = stuck::name(&launch.command);
        if stuck::is(&name) {
            let program = launch.program;
            return Err(ToolError::Silent { program, limit });
        }
        launch
            .command
            .stdin(match input {
                Some(_) => Stdio::piped(),
                None => Stdio::null(),
            })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = launch.spawn()?;
        let program = launch.program;
        if let (Some(input), Some(mut stdin)) = (input, child.stdin.take()) {
            // A tool that stops reading has failed, and says why.
            let write = move || stdin.write_all(&input);
            if let Err(source) = thread::Builder::new().spawn(write) {
                end(name, child);
                return Err(ToolError::Run { program, source });
            }
        }
        let heard = Talk::with(&mut child).and_then(|mut talk| {
            let turn = talk.hear(until)?;
            Ok((turn, talk.said()))
        });
        let error = match heard {
            Ok((Turn::Ended, [stdout, stderr])) => {
                return match child.wait() {
                    _ if stdout.len().max(stderr.len()) > MOST => {
                        Err(ToolError::Endless { program })
                    }
                    Ok(status) => Ok(Output {
                        status,
                        stdout,
                        stderr,
                    }),
                    Err(source) => Err(ToolError::Run { program, source }),
                };
            }
            Ok((Turn::Late, _)) => ToolError::Silent { program, limit },
            Ok((Turn::Endless, _)) => ToolError::Endless { program },
            Err(source) => ToolError::Run { program, source },
        };
        end(name, child);
        Err(error)
    }
}

/// Whether there is a program of this name where a [`Tool`] is looked for.
pub fn is_installed(program: &str) -> bool {
    PATH.split(':')
        .any(|folder| Path::new(folder).join(program).exists())
}

fn ended(child: &mut Child, until: Deadline) -> Option<ExitStatus> {
    until.ask(LOOK, || child.try_wait()).ok().flatten()
}

/// Ends the tool and what it started. One that cannot even be killed, since it waits for a disk, is left.
fn end(name: String, mut child: Child) {
    // Process numbers are positive, and fit.
    let group = Pid::from_raw(i32::try_from(child.id()).unwrap_or(i32::MAX));
    for signal in [Signal::SIGTERM, Signal::SIGKILL] {
        // The group may be gone.
        let _gone = killpg(group, signal);
        if ended(&mut child, Deadline::after(GRACE)).is_some() {
            // What it started may not have heard the first signal.
            let _gone = killpg(group, Signal::SIGKILL);
            return;
        }
    }
    stuck::leave(name, child);
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Instant;

    use super::*;

    fn shell(script: &str) -> Tool {
        Tool::new("sh").args(["-c", script])
    }

    #[test]
    fn what_it_prints_and_how_it_ends_are_given() {
        let output = shell("cat; echo no >&2; exit 3")
            .input("yes")
            .output()
            .unwrap();
        assert_eq!(output.stdout, b"yes");
        assert_eq!(output.stderr, b"no\n");
        assert_eq!(output.status.code(), Some(3));
    }

    #[test]
    fn one_alone_has_nothing_of_who_runs_it() {
        let output = Tool::new("env").alone([("A", "b")]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let mut names: Vec<&str> = text.lines().collect();
        names.sort_unstable();
        assert_eq!(names, ["A=b", "LC_ALL=C", &format!("PATH={PATH}")]);
    }

    #[test]
    fn a_tool_that_fails_says_why_and_its_text_is_none() {
        assert_eq!(shell("echo yes; echo no >&2").text().unwrap(), "yes\n");
        let said = |script: &str| shell(script).text().unwrap_err().to_string();
        assert_eq!(said("echo yes; echo ' no ' >&2; exit 3"), "sh: no");
        assert_eq!(said("echo yes; exit 3"), "sh: exit status: 3");
    }

    #[test]
    fn more_than_a_pipe_holds_passes_both_ways() {
        let much = vec![b'x'; 4 << 20];
        let output = Tool::new("cat").input(much.clone()).output().unwrap();
        assert!(output.stdout == much);
        // A tool that does not read what it is told has its own reason.
        let output = shell("exit 1").input(much).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
    }

    #[test]
    fn a_part_of_an_answer_is_none() {
        let endless = shell("cat /dev/zero").output().unwrap_err();
        assert_eq!(endless.to_string(), "sh: it printed more than 64 MiB");
        // Not even when the tool does not mind that nobody reads on.
        let success = shell("trap '' PIPE; head -c 70000000 /dev/zero 2>/dev/null; exit 0");
        assert!(matches!(success.output(), Err(ToolError::Endless { .. })));
    }

    #[test]
    fn a_tool_that_hangs_is_ended_with_all_that_it_started() {
        let folder = std::env::temp_dir().join(format!("hawser-tool-{}", std::process::id()));
        let script = "trap '' TERM; sleep 600 & echo $! $$ > \"$0\"; wait; sleep 600";
        let started = Instant::now();
        let limit = Duration::from_millis(300);
        let hangs = shell(script).args([&folder]).limit(limit).output();
        let error = hangs.unwrap_err();
        assert_eq!(error.to_string(), "sh: no answer within 0.3 s");
        assert!(started.elapsed() < Duration::from_secs(30));
        let pids = fs::read_to_string(&folder).unwrap();
        fs::remove_file(&folder).unwrap();
        for pid in pids.split_whitespace() {
            let gone = |pid: &str| {
                let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
                stat.is_empty() || stat.contains(") Z ")
            };
            let until = Deadline::after(Duration::from_secs(10));
            assert!(until.holds(LOOK, || gone(pid)), "{pid} of {pids} lives");
        }
    }

    #[test]
    fn a_tool_that_leaves_a_child_on_its_pipe_has_ended() {
        let silent = "sleep 600";
        for child in [silent, "while :; do echo y; done"] {
            let script = format!("echo no >&2; {{ {child}; }} & echo $!; exit 3");
            let output = shell(&script).limit(Duration::from_secs(60)).output();
            let output = output.unwrap();
            assert_eq!(output.stderr, b"no\n");
            assert_eq!(output.status.code(), Some(3));
            let said = String::from_utf8(output.stdout).unwrap();
            let pid = said.lines().find_map(|line| line.parse().ok()).unwrap();
            // It is not ours to end. One that writes ends by itself now: nobody reads.
            let lives = processes::Process::of(pid).is_some();
            assert!(lives || child != silent);
            let _gone = nix::sys::signal::kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
    }

    #[test]
    fn without_a_thread_a_tool_that_needs_none_runs_and_another_says_why_not() {
        // No address space holds such a stack.
        const STACK: &str = "RUST_MIN_STACK";
        let huge = (1_u64 << 47).to_string();
        if std::env::var(STACK).is_ok_and(|it| it == huge) {
            assert_eq!(shell("echo yes").text().unwrap(), "yes\n");
            let told = shell("cat").input("yes").output();
            assert!(matches!(told, Err(ToolError::Run { .. })), "{told:?}");
            let stands = Launch::new("echo").arg("ready").companion("ready");
            assert!(matches!(stands, Err(ToolError::Run { .. })), "{stands:?}");
            return;
        }
        let name = "tests::without_a_thread_a_tool_that_needs_none_runs_and_another_says_why_not";
        let again = Tool::new(std::env::current_exe().unwrap());
        let again = again.args(["--exact", name, "--test-threads=1"]);
        let said = again.variable(STACK, &huge).text().unwrap();
        assert!(said.contains("1 passed"), "{said}");
    }

    #[test]
    fn a_program_that_is_not_there_is_told_apart() {
        let error = Tool::new("no-such-program").output().unwrap_err();
        assert_eq!(error.to_string(), "no-such-program is not installed");
    }
}
