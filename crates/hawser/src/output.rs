//! Standard output and standard error, whose reader may have read enough (`| head -1`).
//!
//! A verb whose reader is gone does its work to the end, unheard: an `apply` that is half done would be worse
//! than one without an audience. Only the output ends, and the exit code says so.
//!
//! All text goes out through one gate, [`paint::shown`]: what a host, a peer or a file put into it cannot move
//! the cursor, turn the direction of text or colour it.

pub mod bar;
pub mod errors;
pub mod paint;
pub mod width;

use std::io::{self, ErrorKind, Write};
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::sync::Mutex;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// What a shell shows for a program that SIGPIPE ended (128 and the signal's number). Rust's programs ignore the
/// signal, and this one must: an ssh that dies closes a pipe as well, and is an error with a name.
pub const READER_GONE: u8 = 128 + 13;

/// The first write to standard output that failed; nothing is written after it.
static FAILED: Mutex<Option<io::Error>> = Mutex::new(None);

/// Writes to standard output. What fails is kept for [`ended`].
pub fn print(text: &str) {
    print_bytes(paint::shown(text, |_| false).as_bytes());
}

/// Writes what people read, no line of it wider than the terminal.
pub fn print_fitted(text: &str) {
    print(&width::fitted(text));
}

/// Writes a file's text, in which a tab is one.
pub fn document(text: &str) {
    print_bytes(paint::shown(text, |c| c == '\t').as_bytes());
}

/// Writes what need not be text, as it is: into a file or a pipe that was named for it.
pub fn print_bytes(bytes: &[u8]) {
    attempt(|out| out.write_all(bytes));
}

/// Writes to standard error, no line of it wider than the terminal; nobody can be told that it failed.
pub fn error_line(text: &str) {
    let fitted = width::fitted_to(text, width::error_columns());
    let _ = writeln!(io::stderr(), "{}", paint::shown(&fitted, |_| false));
}

/// Whether nobody reads standard output any more, for whoever writes seldom.
pub fn is_unheard() -> bool {
    let mut failed = FAILED.lock().unwrap_or_else(|e| e.into_inner());
    let stdout = io::stdout();
    let mut asked = [PollFd::new(stdout.as_fd(), PollFlags::empty())];
    let has_ended = poll(&mut asked, PollTimeout::ZERO).is_ok_and(|count| count > 0)
        && asked[0]
            .revents()
            .is_some_and(|seen| seen.contains(PollFlags::POLLERR));
    if has_ended && failed.is_none() {
        *failed = Some(ErrorKind::BrokenPipe.into());
    }
    failed.is_some()
}

/// The exit code of work that ended with `code`, when all that was to be said has been said.
pub fn ended(code: ExitCode) -> ExitCode {
    attempt(|out| out.flush());
    match &*FAILED.lock().unwrap_or_else(|e| e.into_inner()) {
        None => code,
        Some(e) if e.kind() == ErrorKind::BrokenPipe => ExitCode::from(READER_GONE),
        Some(e) => {
            error_line(&format!("cannot write to standard output: {e}"));
            ExitCode::from(2)
        }
    }
}

fn attempt(write: impl FnOnce(&mut io::StdoutLock<'static>) -> io::Result<()>) {
    let mut failed = FAILED.lock().unwrap_or_else(|e| e.into_inner());
    if failed.is_none() {
        *failed = write(&mut io::stdout().lock()).err();
    }
}

/// A line on standard output, in the words of `format!`.
macro_rules! say {
    ($($text:tt)+) => {
        $crate::output::print_fitted(&(format!($($text)+) + "\n"))
    };
}

/// A line on standard error, in the words of `format!`.
macro_rules! complain {
    ($($text:tt)+) => {
        $crate::output::error_line(&format!($($text)+))
    };
}

pub(crate) use {complain, say};
