//! `hawser lab`.

use std::process::ExitCode;

/// Arguments of `hawser lab`.
#[derive(clap::Args)]
pub struct Args {}

/// Runs the verb.
pub fn run(_args: Args) -> miette::Result<ExitCode> {
    Ok(ExitCode::SUCCESS)
}
