//! Starting a program that goes on beside this one, or that this one becomes.
//!
//! It has this program's environment. How it is started says what it is: it talks over pipes ([`Launch::piped`]), watches
//! over this program ([`Launch::companion`]), serves on its own ([`Launch::daemon`]), has this program's streams
//! ([`Launch::attached`]) or its place ([`Launch::exec`]).

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use crate::{Deadline, GRACE, ToolError, ended};

/// What stands before the words of a program that is to be killed as soon as the process that started it is gone.
pub const TIED: [&str; 4] = ["setpriv", "--pdeathsig", "KILL", "--"];

/// The same for a program that is to end with all that it started in its process group: asked at first (SIGTERM), killed a
/// second later. `timeout` hands on what it is told; it has no limit of its own here.
pub const TIED_GROUP: [&str; 7] = [
    "setpriv",
    "--pdeathsig",
    "TERM",
    "--",
    "timeout",
    "--kill-after=1",
    "0",
];

/// How long a companion may take to stand.
const STANDS: Duration = Duration::from_secs(10);

/// A program that is about to be started.
#[derive(Debug)]
pub struct Launch {
    pub(crate) program: String,
    pub(crate) command: Command,
    log: Option<File>,
}

/// A program and the pipes to it.
#[derive(Debug)]
pub struct Piped {
    /// Its process.
    pub child: Child,
    /// What it reads.
    pub input: ChildStdin,
    /// What it answers.
    pub output: ChildStdout,
    /// What it says of itself, unless that goes into a log.
    pub errors: Option<ChildStderr>,
}

/// A process that stands beside this one. Its standard input ends with this program, however that ends, or when this is
/// dropped.
#[derive(Debug)]
pub struct Companion(Child);

impl Launch {
    /// This program, by its name or its path.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        Self {
            program: program.as_ref().to_string_lossy().into_owned(),
            command: Command::new(program),
            log: None,
        }
    }

    /// Told that it was called so (its argument 0), whatever its file is called.
    #[must_use]
    pub fn called(mut self, name: impl AsRef<OsStr>) -> Self {
        self.command.arg0(name);
        self
    }

    /// With this argument after those that it has.
    #[must_use]
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.command.arg(argument);
        self
    }

    /// With these arguments after those that it has.
    #[must_use]
    pub fn args<S: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = S>) -> Self {
        self.command.args(arguments);
        self
    }

    /// With these variables in its environment.
    #[must_use]
    pub fn envs<N: AsRef<OsStr>, V: AsRef<OsStr>>(
        mut self,
        variables: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        self.command.envs(variables);
        self
    }

    /// Without any variable of who starts it.
    #[must_use]
    pub(crate) fn alone(mut self) -> Self {
        self.command.env_clear();
        self
    }

    /// In this folder.
    #[must_use]
    pub fn folder(mut self, folder: impl AsRef<Path>) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// Not reached by what a terminal sends to this program: Ctrl-C.
    #[must_use]
    pub fn apart(mut self) -> Self {
        self.command.process_group(0);
        self
    }

    /// What it says on its standard error goes there; what a daemon says on its standard output, too.
    #[must_use]
    pub fn log(mut self, log: File) -> Self {
        self.log = Some(log);
        self
    }

    /// Starts it with pipes.
    ///
    /// # Errors
    /// It cannot be run.
    pub fn piped(mut self) -> Result<Piped, ToolError> {
        let errors = self.log.take().map_or_else(Stdio::piped, Stdio::from);
        self.command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(errors);
        let mut child = self.spawn()?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            unreachable!("both were asked to be pipes")
        };
        Ok(Piped {
            errors: child.stderr.take(),
            child,
            input,
            output,
        })
    }

    /// Starts it as a companion, and waits until it stands: its first line is `ready`. Nothing else that it says is heard,
    /// and it keeps no folder busy.
    ///
    /// # Errors
    /// It cannot be run, or does not stand within 10 s; then it is killed.
    pub fn companion(self, ready: &str) -> Result<Companion, ToolError> {
        self.companion_within(ready, STANDS)
    }

    fn companion_within(mut self, ready: &str, limit: Duration) -> Result<Companion, ToolError> {
        self.command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // It outlives this program, and must not hold a connection open.
            .stderr(Stdio::null())
            .current_dir("/");
        let until = Deadline::after(limit);
        let mut child = self.spawn()?;
        let expected = format!("{ready}\n");
        // No more than what is expected: it may be any program that is there by now.
        let output = child.stdout.take().map(|it| it.take(expected.len() as u64));
        let said = match all(output) {
            Ok(said) => in_time(&said, until),
            Err(e) => {
                kill(&mut child);
                return Err(self.failed(e));
            }
        };
        if said.as_deref() == Some(expected.as_bytes()) {
            return Ok(Companion(child));
        }
        drop(child.stdin.take());
        let program = self.program;
        Err(match ended(&mut child, Deadline::after(GRACE)) {
            Some(status) => ToolError::Unready { program, status },
            None => {
                kill(&mut child);
                ToolError::Silent { program, limit }
            }
        })
    }

    /// Starts it without input, to go on by itself. Without a log it has this program's standard error and no output.
    ///
    /// # Errors
    /// It cannot be run.
    pub fn daemon(mut self) -> Result<Child, ToolError> {
        let (out, errors) = match self.log.take() {
            None => (Stdio::null(), Stdio::inherit()),
            Some(log) => (self.cannot(log.try_clone())?.into(), log.into()),
        };
        self.command.stdin(Stdio::null()).stdout(out).stderr(errors);
        self.spawn()
    }

    /// Starts it with the streams of this program.
    ///
    /// # Errors
    /// It cannot be run.
    pub fn attached(mut self) -> Result<Child, ToolError> {
        self.spawn()
    }

    /// Becomes it; what is returned says why not. After that a broken pipe ends this program (SIGPIPE), as it would have
    /// ended the other.
    pub fn exec(mut self) -> ToolError {
        let error = self.command.exec();
        self.failed(error)
    }

    pub(crate) fn spawn(&mut self) -> Result<Child, ToolError> {
        let spawned = self.command.spawn();
        self.cannot(spawned)
    }

    fn cannot<T>(&self, outcome: io::Result<T>) -> Result<T, ToolError> {
        outcome.map_err(|e| self.failed(e))
    }

    fn failed(&self, source: io::Error) -> ToolError {
        let program = self.program.clone();
        match source.kind() {
            ErrorKind::NotFound => ToolError::Missing { program },
            _ => ToolError::Run { program, source },
        }
    }
}

impl Companion {
    /// Whether it still stands.
    pub fn stands(&mut self) -> bool {
        matches!(self.0.try_wait(), Ok(None))
    }

    /// Ends its standard input, and waits for its end.
    ///
    /// # Errors
    /// It cannot be waited for.
    pub fn dismiss(mut self) -> io::Result<ExitStatus> {
        drop(self.0.stdin.take());
        self.0.wait()
    }
}

/// Waits for the end of a child that was started to go on. `stop` is asked at each look: with an answer of it the child is
/// killed, and that answer is the outcome.
///
/// # Errors
/// It cannot be waited for.
pub fn end_unless<S>(
    child: &mut Child,
    look: Duration,
    mut stop: impl FnMut() -> Option<S>,
) -> io::Result<Result<ExitStatus, S>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Ok(status));
        }
        if let Some(stopped) = stop() {
            child.kill()?;
            child.wait()?;
            return Ok(Err(stopped));
        }
        thread::sleep(look);
    }
}

/// All that comes out of a pipe, read meanwhile.
fn all(pipe: Option<impl Read + Send + 'static>) -> io::Result<Receiver<Vec<u8>>> {
    let (send, receive) = channel();
    let read = move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // What came before an error is what there is.
            let _broken = pipe.read_to_end(&mut bytes);
        }
        // Nobody waits any more when it is late.
        let _late = send.send(bytes);
    };
    thread::Builder::new().spawn(read)?;
    Ok(receive)
}

fn in_time(from: &Receiver<Vec<u8>>, until: Deadline) -> Option<Vec<u8>> {
    from.recv_timeout(until.left()).ok()
}

/// Kills a child that may never end, since it waits for a disk: a thread takes its end.
pub fn leave(mut child: Child) {
    // An error means that it has ended.
    let _gone = child.kill();
    // Without a thread it stays a zombie until this program ends.
    let _none = thread::Builder::new().spawn(move || child.wait());
}

/// Kills it and takes its end. An error means that it has ended.
fn kill(child: &mut Child) {
    let _gone = child.kill();
    let _taken = child.wait();
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;
    use std::time::Instant;

    use super::*;

    fn shell(script: &str) -> Launch {
        Launch::new("sh").args(["-c", script])
    }

    #[test]
    fn a_companion_stands_until_its_input_ends() {
        let mut stands = shell("echo ready; cat; exit 3").companion("ready").unwrap();
        assert!(stands.stands());
        assert_eq!(stands.dismiss().unwrap().code(), Some(3));
    }

    #[test]
    fn who_says_another_word_or_goes_without_one_is_no_companion() {
        let said = |script| shell(script).companion("ready").unwrap_err().to_string();
        assert_eq!(said("exit 2"), "sh: it did not start: exit status: 2");
        assert_eq!(
            said("echo red; exit 0"),
            "sh: it did not start: exit status: 0"
        );
        // Nor does one whose line goes on.
        assert_eq!(
            said("echo ready-made; exit 1"),
            "sh: it did not start: exit status: 1"
        );
    }

    #[test]
    fn who_says_nothing_in_time_is_killed() {
        let (started, limit) = (Instant::now(), Duration::from_millis(100));
        let error = shell("exec sleep 600").companion_within("ready", limit);
        assert_eq!(error.unwrap_err().to_string(), "sh: no answer within 0.1 s");
        assert!(started.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn what_is_said_goes_through_the_pipes_or_into_the_log() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let open = || {
            File::options()
                .create(true)
                .append(true)
                .open(&log)
                .unwrap()
        };
        let mut talks = shell("cat; echo no >&2").log(open()).piped().unwrap();
        assert!(talks.errors.is_none());
        talks.input.write_all(b"yes").unwrap();
        drop(talks.input);
        let mut answer = String::new();
        talks.output.read_to_string(&mut answer).unwrap();
        talks.child.wait().unwrap();
        assert_eq!(answer, "yes");
        let daemon = shell("cat; echo out; echo $A >&2; pwd");
        let daemon = daemon.log(open()).envs([("A", "err")]).folder("/usr");
        daemon.daemon().unwrap().wait().unwrap();
        assert_eq!(fs::read_to_string(&log).unwrap(), "no\nout\nerr\n/usr\n");
    }

    #[test]
    fn a_program_that_is_not_there_is_told_apart() {
        let error = Launch::new("no-such-program").daemon().unwrap_err();
        assert_eq!(error.to_string(), "no-such-program is not installed");
        let error = Launch::new("/").attached().unwrap_err();
        assert_eq!(error.to_string(), "/: Permission denied (os error 13)");
    }
}
