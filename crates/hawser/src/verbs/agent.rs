//! `hawser agent`: serves one coordinator on stdin and stdout. Other verbs start it on nodes.

use std::process::ExitCode;

/// Arguments of `hawser agent`.
#[derive(clap::Args)]
pub struct Args {}

/// Runs the verb; returning ends everything it had opened.
pub fn run(_args: Args) -> miette::Result<ExitCode> {
    match hawser_agent::serve_stdio() {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(error) => {
            // One plain line: the coordinator shows it inside a message of its own.
            eprintln!("hawser agent: {error}");
            Ok(ExitCode::from(2))
        }
    }
}
