//! Ctrl-C in work that is not finished by going on: what is kept, or what state is left, is said, and the work ends.

use std::io::IsTerminal;
use std::sync::{Arc, Mutex};
use std::thread;

use nix::sys::signal::{SigSet, Signal, raise};

use crate::output::error_line;

/// What Ctrl-C says; it may change while the work goes on.
pub struct Words(Arc<Mutex<String>>);

impl Words {
    /// From here on it says this.
    pub fn now(&self, words: impl Into<String>) {
        *self.0.lock().unwrap_or_else(|e| e.into_inner()) = words.into();
    }
}

/// From here on Ctrl-C says this before it ends the process. Called before any thread is started.
///
/// Nothing is said in a process whose parent holds the signal back: that one ends the process, and says what is left
/// (`hawser lab up --cluster` and its apply).
///
/// # Errors
/// The signal cannot be held back.
pub fn says(words: impl Into<String>) -> miette::Result<Words> {
    let said = Arc::new(Mutex::new(words.into()));
    let words = Words(said.clone());
    let held = |e| miette::miette!("cannot hold SIGINT back: {e}");
    if SigSet::thread_get_mask()
        .map_err(held)?
        .contains(Signal::SIGINT)
    {
        return Ok(words);
    }
    let mut set = SigSet::empty();
    set.add(Signal::SIGINT);
    set.thread_block().map_err(held)?;
    thread::spawn(move || {
        if set.wait().is_err() {
            return;
        }
        // Below a bar, and below the terminal's own ^C.
        let begin = match std::io::stderr().is_terminal() {
            true => "\n",
            false => "",
        };
        let words = said.lock().unwrap_or_else(|e| e.into_inner()).clone();
        error_line(&format!("{begin}interrupted: {words}"));
        // By the signal, as its parent expects.
        let _ends = set.thread_unblock().and_then(|()| raise(Signal::SIGINT));
        std::process::exit(128 + 2)
    });
    Ok(words)
}
