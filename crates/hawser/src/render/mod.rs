//! Text for people: the one place where accounts and findings become terminal output.

pub mod bench_cipher;
pub mod check;
pub mod copy;
pub mod exports;
pub mod ladder;
mod rate_chart;
pub mod status;
mod table;
pub mod tune;

use std::io::{ErrorKind, Write};

use miette::{IntoDiagnostic, WrapErr};

/// Writes to stdout. Whoever reads may have read enough (`| head`).
pub fn print(out: &str) -> miette::Result<()> {
    match std::io::stdout().write_all(out.as_bytes()) {
        Err(e) if e.kind() == ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome.into_diagnostic().wrap_err("write to stdout"),
    }
}
