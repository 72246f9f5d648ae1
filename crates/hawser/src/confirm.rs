//! Asking before something is done to hosts that are not a lab's.

use std::io::{BufRead, IsTerminal};

use miette::{IntoDiagnostic, WrapErr, bail};

use crate::output::complain;

/// The option that confirms what [`yes`] asks.
pub const YES: &str = "--yes";

/// Fails where nobody can be asked: standard input is no terminal. `instead` is the option that confirms without one.
///
/// # Errors
/// So it is.
pub fn is_possible(instead: &str) -> miette::Result<()> {
    match std::io::stdin().is_terminal() {
        true => Ok(()),
        false => bail!("this is confirmed on a terminal, or by {instead}; nothing was done"),
    }
}

/// A line that somebody types on the terminal, after `asked` is shown there.
///
/// # Errors
/// As [`is_possible`].
pub fn typed(asked: &str, instead: &str) -> miette::Result<String> {
    is_possible(instead)?;
    complain!("{asked}");
    let mut line = String::new();
    std::io::stdin()
        .lock()
        .read_line(&mut line)
        .into_diagnostic()
        .wrap_err("cannot read the answer")?;
    Ok(line.trim().to_owned())
}

/// Whether what `asked` says is confirmed, by `yes` and nothing else.
///
/// # Errors
/// As [`is_possible`].
pub fn yes(asked: &str) -> miette::Result<bool> {
    Ok(typed(&format!("{asked} Type yes to go on:"), YES)? == "yes")
}
