//! Ctrl-C in work that is not worth going on with: what is kept is said, and the work ends.

use std::io::IsTerminal;
use std::thread;

use nix::sys::signal::{SigSet, Signal, raise};

use crate::output::error_line;

/// From here on Ctrl-C says this before it ends the process. Called before any thread is started.
///
/// # Errors
/// The signal cannot be held back.
pub fn says(words: &'static str) -> miette::Result<()> {
    let mut set = SigSet::empty();
    set.add(Signal::SIGINT);
    set.thread_block()
        .map_err(|e| miette::miette!("cannot hold SIGINT back: {e}"))?;
    thread::spawn(move || {
        if set.wait().is_err() {
            return;
        }
        // Below a bar, and below the terminal's own ^C.
        let begin = match std::io::stderr().is_terminal() {
            true => "\n",
            false => "",
        };
        error_line(&format!("{begin}{words}"));
        // By the signal, as whoever started it expects.
        let _ends = set.thread_unblock().and_then(|()| raise(Signal::SIGINT));
        std::process::exit(128 + 2)
    });
    Ok(())
}
