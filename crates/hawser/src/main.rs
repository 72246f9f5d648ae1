//! The `hawser` command: parses the command line and hands over to one verb.
#![forbid(unsafe_code)]
// Both panic when their reader is gone: `output` has what does not.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod bad_file;
mod case_file;
mod cluster;
mod output;
mod parse;
mod render;
mod verbs;
mod waiting;

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
    /// Make the nodes what the cluster file says
    Apply(verbs::apply::Args),
    /// Measure what this machine itself can do
    Bench(verbs::bench::Args),
    /// What `tune` has changed and kept on the nodes
    Changes(verbs::changes::Args),
    /// Measure the interconnect: where every lost packet went, and why
    Check(verbs::check::Args),
    /// Copy a file or device to another host, and say what slows it
    Copy(verbs::copy::Args),
    /// A lab, a planted fault found and fixed, the proof
    Demo(verbs::demo::Args),
    /// Make a fault while a client writes: what it cost, and whether every promise held
    Drill(verbs::drill::Args),
    /// The account and the findings again from a case file, offline
    Explain(verbs::explain::Args),
    /// What a pool offers by iSCSI, on the head that has it
    Exports(verbs::exports::Args),
    /// A whole cluster on one machine, with faults to plant
    Lab(verbs::lab::Args),
    /// Measure each part of a path and the whole: where every lost MB/s went, and why
    Ladder(verbs::ladder::Args),
    /// Send a pool to a node
    Move(verbs::operate::MoveArgs),
    /// Let a node run pools again
    Online(verbs::operate::NodeArgs),
    /// What differs between a cluster file and the live cluster, and what Pacemaker would do about it
    Plan(verbs::plan::Args),
    /// A case as one self-contained page with pictures
    Report(verbs::report::Args),
    /// Move everything away from a node and keep it away
    Standby(verbs::operate::NodeArgs),
    /// Whether the cluster is redundant now, what is degraded, what would happen if a node died
    Status(verbs::status::Args),
    /// Try each fix of what a check finds as an experiment; keep what is proven
    Tune(verbs::tune::Args),
    /// Take back what `tune` has changed
    Undo(verbs::changes::UndoArgs),
}

fn main() -> ExitCode {
    output::errors::show_whole();
    // Before anything is opened or started: a node of a lab, a guard of the agent and a daemon outlive this process.
    if let Err(e) = hawser_kernel::descriptors::keep_from_children() {
        // Never worth a `stop` that fails.
        output::complain!("/proc/self/fd: {e}: what is started keeps inherited descriptors");
    }
    let outcome = match Cli::parse().verb {
        Verb::Agent(args) => verbs::agent::run(args),
        Verb::Apply(args) => verbs::apply::run(args),
        Verb::Bench(args) => verbs::bench::run(args),
        Verb::Changes(args) => verbs::changes::run(args),
        Verb::Check(args) => verbs::check::run(args),
        Verb::Copy(args) => verbs::copy::run(args),
        Verb::Demo(args) => verbs::demo::run(args),
        Verb::Drill(args) => verbs::drill::run(&args),
        Verb::Explain(args) => verbs::explain::run(args),
        Verb::Exports(args) => verbs::exports::run(args),
        Verb::Lab(args) => verbs::lab::run(args),
        Verb::Ladder(args) => verbs::ladder::run(args),
        Verb::Move(args) => verbs::operate::move_pool(&args),
        Verb::Online(args) => verbs::operate::standby(&args, false),
        Verb::Plan(args) => verbs::plan::run(args),
        Verb::Report(args) => verbs::report::run(args),
        Verb::Standby(args) => verbs::operate::standby(&args, true),
        Verb::Status(args) => verbs::status::run(&args),
        Verb::Tune(args) => verbs::tune::run(args),
        Verb::Undo(args) => verbs::changes::undo(args),
    };
    match outcome {
        Ok(code) => output::ended(code),
        Err(report) => {
            output::complain!("{report:?}");
            ExitCode::from(2)
        }
    }
}
