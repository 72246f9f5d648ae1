//! Ctrl-C in work that is not worth going on with: what is kept is said, and the work ends.

use std::io::IsTerminal;
use std::thread;
use std::time::Duration;

use hawser_lab::Interrupt;

use crate::output::error_line;

/// What a shell shows for a program that SIGINT ended.
const INTERRUPTED: i32 = 128 + 2;

/// How often it is looked whether the work is to end.
const LOOKS: Duration = Duration::from_millis(50);

/// From here on an interrupt says this and ends the process. Called before any thread is started.
///
/// # Errors
/// The signals cannot be held back.
pub fn says(words: &'static str) -> miette::Result<()> {
    let interrupt = Interrupt::hold().map_err(|e| miette::miette!("{e}"))?;
    thread::spawn(move || {
        while !interrupt.requested() {
            thread::sleep(LOOKS);
        }
        // Below a bar, and below the terminal's own ^C.
        let begin = if std::io::stderr().is_terminal() {
            "\n"
        } else {
            ""
        };
        error_line(&format!("{begin}{words}"));
        std::process::exit(INTERRUPTED)
    });
    Ok(())
}
