//! The `hawser` command: parses the command line and hands over to one verb.
#![forbid(unsafe_code)]

mod verbs;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Accounts for every lost packet of a high-availability cluster, and names the cause.
#[derive(Parser)]
#[command(version, propagate_version = true, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Serve one coordinator on stdin and stdout; other verbs start it on nodes
    #[command(hide = true)]
    Agent(verbs::agent::Args),
    /// A whole cluster on one machine, with faults to plant
    Lab(verbs::lab::Args),
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().verb {
        Verb::Agent(args) => verbs::agent::run(args),
        Verb::Lab(args) => verbs::lab::run(args),
    };
    match outcome {
        Ok(code) => code,
        Err(report) => {
            eprintln!("{report:?}");
            ExitCode::from(2)
        }
    }
}
