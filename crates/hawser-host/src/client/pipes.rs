//! The three pipes of the program that reaches a node, each with a deadline on every wait.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, ExitStatus};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use hawser_tool::Piped;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// How long a program may take to end after its stdin was closed, before it is killed. The
/// agent takes at most a third of it.
const END_GRACE: Duration = Duration::from_secs(3);

/// How much of stderr is kept.
const TAIL: usize = 8 << 10;

/// The writing end, shared with whoever may write beside the requests.
pub(crate) type Input = Arc<Mutex<Option<ChildStdin>>>;

/// A running program and its pipes.
#[derive(Debug)]
pub(crate) struct Pipes {
    child: Child,
    input: Input,
    output: ChildStdout,
    errors: Option<ChildStderr>,
    said: Vec<u8>,
}

/// What came out of the program.
#[derive(Debug)]
pub(crate) enum Arrived {
    /// Bytes of its stdout.
    Bytes(Vec<u8>),
    /// It closed its stdout.
    End,
    /// Nothing, until the deadline.
    Nothing,
}

impl Pipes {
    /// Of a program that was started.
    pub(crate) fn of(program: Piped) -> io::Result<Self> {
        let pipes = Self {
            child: program.child,
            input: Arc::new(Mutex::new(Some(program.input))),
            output: program.output,
            errors: program.errors,
            said: Vec::new(),
        };
        if let Some(input) = lock(&pipes.input).as_ref() {
            dont_block(input.as_fd())?;
        }
        dont_block(pipes.output.as_fd())?;
        if let Some(errors) = &pipes.errors {
            dont_block(errors.as_fd())?;
        }
        Ok(pipes)
    }

    /// The writing end.
    pub(crate) fn input(&self) -> Input {
        Arc::clone(&self.input)
    }

    /// Waits for bytes of stdout; keeps what comes on stderr.
    pub(crate) fn receive(&mut self, deadline: Instant) -> io::Result<Arrived> {
        loop {
            let mut waited = vec![PollFd::new(self.output.as_fd(), PollFlags::POLLIN)];
            if let Some(errors) = &self.errors {
                waited.push(PollFd::new(errors.as_fd(), PollFlags::POLLIN));
            }
            let ready = wait(&mut waited, deadline)?;
            let output_ready = waited[0].any().unwrap_or(false);
            self.take_errors();
            if output_ready {
                let mut chunk = vec![0; 64 << 10];
                match self.output.read(&mut chunk) {
                    Ok(0) => return Ok(Arrived::End),
                    Ok(n) => {
                        chunk.truncate(n);
                        return Ok(Arrived::Bytes(chunk));
                    }
                    Err(e) if retry(&e) => {}
                    Err(e) => return Err(e),
                }
            } else if !ready || Instant::now() >= deadline {
                // Somebody who writes to stderr without end is not waited for.
                return Ok(Arrived::Nothing);
            }
        }
    }

    /// What the program wrote to stderr so far: the last of it.
    pub(crate) fn said(&mut self) -> String {
        self.take_errors();
        String::from_utf8_lossy(&self.said).trim().replace('\r', "")
    }

    /// Closes its stdin, waits for its end, kills it if need be.
    pub(crate) fn end(&mut self) -> io::Result<ExitStatus> {
        lock(&self.input).take();
        let deadline = Instant::now() + END_GRACE;
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            if Instant::now() >= deadline {
                self.child.kill()?;
                return self.child.wait();
            }
            // Its last words must not fill the pipe and hold it up.
            self.take_errors();
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Kills it without waiting for it to end by itself.
    pub(crate) fn kill(&mut self) {
        lock(&self.input).take();
        // An error means that it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Takes what is there, but no more than a pipe holds: a writer that is faster than we are has no end.
    fn take_errors(&mut self) {
        let mut chunk = [0; 4096];
        for _ in 0..16 {
            let Some(errors) = &mut self.errors else {
                return;
            };
            match errors.read(&mut chunk) {
                Ok(0) => self.errors = None,
                Ok(n) => {
                    self.said.extend_from_slice(&chunk[..n]);
                    let over = self.said.len().saturating_sub(TAIL);
                    self.said.drain(..over);
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => self.errors = None,
            }
        }
    }
}

impl Drop for Pipes {
    fn drop(&mut self) {
        if self.end().is_err() {
            self.kill();
        }
    }
}

/// Writes all bytes, or fails at the deadline. After a failure the pipe is closed, since part
/// of a frame may be in it.
///
/// # Errors
/// `TimedOut` at the deadline, `BrokenPipe` when the program ended or was let go.
pub(crate) fn send(input: &Input, bytes: &[u8], deadline: Instant) -> io::Result<()> {
    let mut guard = lock(input);
    let Some(pipe) = guard.as_mut() else {
        return Err(io::ErrorKind::BrokenPipe.into());
    };
    let sent = write_all(pipe, bytes, deadline);
    if sent.is_err() {
        *guard = None;
    }
    sent
}

fn write_all(pipe: &mut ChildStdin, mut bytes: &[u8], deadline: Instant) -> io::Result<()> {
    while !bytes.is_empty() {
        match pipe.write(bytes) {
            Ok(n) => bytes = &bytes[n..],
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                let mut waited = [PollFd::new(pipe.as_fd(), PollFlags::POLLOUT)];
                if !wait(&mut waited, deadline)? {
                    return Err(io::ErrorKind::TimedOut.into());
                }
            }
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

fn lock(input: &Input) -> MutexGuard<'_, Option<ChildStdin>> {
    input.lock().unwrap_or_else(PoisonError::into_inner)
}

fn retry(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock
    )
}

fn dont_block(fd: BorrowedFd<'_>) -> io::Result<()> {
    let flags = OFlag::from_bits_retain(fcntl(fd, FcntlArg::F_GETFL)?);
    fcntl(fd, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
    Ok(())
}

/// Polls until something is ready (`true`) or the deadline has come.
fn wait(fds: &mut [PollFd<'_>], deadline: Instant) -> io::Result<bool> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        // Rounded up, so that the last part of a millisecond is slept and not spun through.
        let millis = left.as_nanos().div_ceil(1_000_000);
        let timeout = PollTimeout::try_from(millis).unwrap_or(PollTimeout::MAX);
        match poll(fds, timeout) {
            Ok(0) if left.is_zero() => return Ok(false),
            Ok(0) | Err(nix::errno::Errno::EINTR) => {}
            Ok(_) => return Ok(true),
            Err(e) => return Err(e.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use hawser_tool::Launch;

    use super::*;

    fn shell(script: &str) -> Pipes {
        let started = Launch::new("sh").args(["-c", script]).piped();
        Pipes::of(started.unwrap()).unwrap()
    }

    #[test]
    fn a_program_that_does_not_mind_its_stdin_is_killed_after_the_grace() {
        let mut pipes = shell("exec sleep 60");
        let started = Instant::now();
        let status = pipes.end().unwrap();
        assert!(!status.success());
        assert!(started.elapsed() >= END_GRACE && started.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn what_is_not_taken_by_the_deadline_is_an_error_and_closes_the_pipe() {
        let pipes = shell("exec sleep 60");
        let soon = Instant::now() + Duration::from_millis(100);
        // More than a pipe holds.
        let error = send(&pipes.input(), &vec![0; 1 << 20], soon).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        let error = send(&pipes.input(), b"x", soon).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
        let mut pipes = pipes;
        pipes.kill();
    }

    #[test]
    fn a_program_that_floods_stderr_is_not_held_up_and_its_last_words_are_kept() {
        let mut pipes = shell("seq 100000 >&2; echo done");
        let deadline = Instant::now() + Duration::from_secs(10);
        let Arrived::Bytes(bytes) = pipes.receive(deadline).unwrap() else {
            panic!("it was held up");
        };
        assert_eq!(bytes, b"done\n");
        let said = pipes.said();
        assert!(said.ends_with("100000") && said.len() <= TAIL);
    }

    #[test]
    fn endless_words_on_stderr_do_not_put_the_deadline_off() {
        let mut pipes = shell("exec 3>&1 yes >&2");
        let started = Instant::now();
        let arrived = pipes.receive(started + Duration::from_millis(300)).unwrap();
        assert!(matches!(arrived, Arrived::Nothing));
        assert!(started.elapsed() < Duration::from_secs(10));
        assert!(pipes.said().len() <= TAIL);
        pipes.kill();
    }

    #[test]
    fn waiting_for_silence_ends_at_the_deadline() {
        let mut pipes = shell("exec sleep 60");
        let started = Instant::now();
        let arrived = pipes.receive(started + Duration::from_millis(50)).unwrap();
        assert!(matches!(arrived, Arrived::Nothing));
        assert!(started.elapsed() < Duration::from_secs(30));
        pipes.kill();
    }
}
