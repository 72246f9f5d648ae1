//! The `hawser` command: parses the command line and hands over to one verb.
#![forbid(unsafe_code)]
// Both panic when their reader is gone: `output` has what does not.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod all_heads;
mod bad_file;
mod case_file;
mod cluster;
mod confirm;
mod interrupted;
mod names;
mod output;
mod parse;
#[cfg(test)]
mod quoted;
mod render;
mod saved_plan;
mod verbs;
mod waiting;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};

/// Accounts for every lost packet of a high-availability cluster, and names the cause.
#[derive(Parser)]
#[command(version, propagate_version = true, max_term_width = 100)]
#[command(after_help = "\
Measure:  check, compare, ladder, copy, bench
Improve:  tune, changes, undo
Operate:  init, import, plan, apply, status, watch, top, incident, standby,
          online, move, exports, clients
Practise: drill, lab, demo
Read:     explain, report

Exit code 0: all is well; 1: something was found, or is not as it should be; 2: it could not be done.

Example:
  hawser check --host head1 --host head2")]
struct Cli {
    /// Say on standard error what each host is asked; twice: also how long each answer took
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    verbose: u8,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Serve one coordinator on stdin and stdout; other verbs start it on nodes
    #[command(hide = true)]
    Agent(verbs::agent::Args),
    /// Measure the interconnect: where every lost packet went, and why
    #[command(after_help = "Example:\n  hawser check --host head1 --host head2")]
    Check(verbs::check::Args),
    /// Measure each part of a path and the whole: where every lost MB/s went, and why
    #[command(after_help = "Example:\n  hawser ladder --from head1 --to head2")]
    Ladder(verbs::ladder::Args),
    /// In what the hosts of a cluster are set up differently: card, kernel, sysctls
    #[command(after_help = "Example:\n  hawser compare --host head1 --host head2")]
    Compare(verbs::compare::Args),
    /// Copy a file or device to another host, and say what slows it
    #[command(after_help = "Example:\n  hawser copy /srv/image.raw head2:/srv/")]
    Copy(verbs::copy::Args),
    /// Measure what this machine itself can do
    #[command(after_help = "Example:\n  hawser bench cipher")]
    Bench(verbs::bench::Args),
    /// Try each fix of what a check finds as an experiment; keep what is proven
    #[command(after_help = "Example:\n  hawser tune --host head1 --host head2")]
    Tune(verbs::tune::Args),
    /// What `tune` has changed and kept on the nodes
    #[command(after_help = "Example:\n  hawser changes -f hawser.toml")]
    Changes(verbs::changes::Args),
    /// Take back what `tune` has changed
    #[command(after_help = "Example:\n  hawser undo --all")]
    Undo(verbs::changes::UndoArgs),
    /// What a word of the command line can become; the shells ask it
    #[command(hide = true)]
    Complete(verbs::complete::Args),
    /// Manual pages, shell completions and the resource agent, for whoever makes packages
    #[command(hide = true)]
    Generate(verbs::generate::Args),
    /// From the names of heads alone to a first hawser.toml
    #[command(after_help = "Example:\n  hawser init --host root@head1 --host root@head2")]
    Init(verbs::init::Args),
    /// From the configuration that a cluster has, or runs, to hawser.toml and exports.toml
    #[command(
        after_help = "Examples:\n  hawser import /etc/corosync/corosync.conf cib:cib.xml --to cluster\n  hawser import --host head1 --host head2 --to cluster"
    )]
    Import(verbs::import::Args),
    /// What differs between a cluster file and the live cluster, and what Pacemaker would do about it
    #[command(after_help = "Example:\n  hawser plan --diff")]
    Plan(verbs::plan::Args),
    /// Make the nodes what the cluster file says
    #[command(after_help = "Example:\n  hawser apply -f hawser.toml")]
    Apply(verbs::apply::Args),
    /// Whether the cluster is redundant now, what is degraded, what would happen if a node died
    #[command(after_help = "Example:\n  hawser status -f hawser.toml")]
    Status(verbs::status::Args),
    /// What is wrong with the heads now
    #[command(after_help = "Example:\n  hawser watch --once -f hawser.toml")]
    Watch(verbs::watch::Args),
    /// A picture of a cluster in the terminal: heads, links, pools, alarms, as they are at this second
    #[command(after_help = "Example:\n  hawser top --lab demo")]
    Top(verbs::top::Args),
    /// What happened to a cluster that nobody watched: each outage in the heads' logs, second by second
    #[command(after_help = "Example:\n  hawser incident show last -f hawser.toml")]
    Incident(verbs::incident::Args),
    /// Move everything away from a node and keep it away
    #[command(after_help = "Example:\n  hawser standby head1")]
    Standby(verbs::operate::NodeArgs),
    /// Let a node run pools again
    #[command(after_help = "Example:\n  hawser online head1")]
    Online(verbs::operate::NodeArgs),
    /// Send a pool to a node
    #[command(after_help = "Example:\n  hawser move vmpool01 head2")]
    Move(verbs::operate::MoveArgs),
    /// What the clients of the pools should be set to, so that they outlast a takeover
    #[command(after_help = "Example:\n  hawser clients print multipath.conf")]
    Clients(verbs::clients::Args),
    /// What a pool offers by iSCSI and NFS, on the head that has it
    #[command(after_help = "Example:\n  hawser exports verify vmpool01")]
    Exports(verbs::exports::Args),
    /// Make a fault while a client writes: what it cost, and whether every promise held
    #[command(after_help = "Example:\n  hawser drill power-cut --lab demo")]
    Drill(verbs::drill::Args),
    /// A whole cluster on one machine, with faults to plant
    #[command(after_help = "Example:\n  sudo hawser lab up --lab demo --cluster")]
    Lab(verbs::lab::Args),
    /// A lab, a planted fault found and fixed, the proof
    #[command(after_help = "Example:\n  sudo hawser demo")]
    Demo(verbs::demo::Args),
    /// The account and the findings again from a case file, or the page of a cause, offline
    #[command(
        visible_alias = "docs",
        after_help = "Example:\n  hawser explain receive-buffer-too-small"
    )]
    Explain(verbs::explain::Args),
    /// A case as one self-contained page with pictures
    #[command(after_help = "Example:\n  hawser report case.json")]
    Report(verbs::report::Args),
}

fn main() -> ExitCode {
    output::errors::show_whole();
    // Before anything is opened or started: a node of a lab, a guard of the agent and a daemon outlive this process.
    if let Err(e) = hawser_kernel::descriptors::keep_from_children() {
        // Never worth a `stop` that fails.
        output::complain!("/proc/self/fd: {e}: what is started keeps inherited descriptors");
    }
    let Cli { verbose, verb } = Cli::parse();
    cluster::set_verbosity(verbose);
    let outcome = match verb {
        Verb::Agent(args) => verbs::agent::run(args),
        Verb::Apply(args) => verbs::apply::run(args),
        Verb::Bench(args) => verbs::bench::run(args),
        Verb::Changes(args) => verbs::changes::run(args),
        Verb::Check(args) => verbs::check::run(args),
        Verb::Clients(args) => verbs::clients::run(&args),
        Verb::Compare(args) => verbs::compare::run(args),
        Verb::Complete(args) => Ok(verbs::complete::run(args, Cli::command())),
        Verb::Copy(args) => verbs::copy::run(args),
        Verb::Demo(args) => verbs::demo::run(args),
        Verb::Drill(args) => verbs::drill::run(&args),
        Verb::Explain(args) => verbs::explain::run(args),
        Verb::Exports(args) => verbs::exports::run(args),
        Verb::Generate(args) => verbs::generate::run(&args, Cli::command()),
        Verb::Incident(args) => verbs::incident::run(&args),
        Verb::Import(args) => verbs::import::run(args),
        Verb::Init(args) => verbs::init::run(args),
        Verb::Lab(args) => verbs::lab::run(args),
        Verb::Ladder(args) => verbs::ladder::run(args),
        Verb::Move(args) => verbs::operate::move_pool(&args),
        Verb::Online(args) => verbs::operate::standby(&args, false),
        Verb::Plan(args) => verbs::plan::run(args),
        Verb::Report(args) => verbs::report::run(args),
        Verb::Standby(args) => verbs::operate::standby(&args, true),
        Verb::Status(args) => verbs::status::run(&args),
        Verb::Top(args) => verbs::top::run(&args),
        Verb::Tune(args) => verbs::tune::run(args),
        Verb::Undo(args) => verbs::changes::undo(args),
        Verb::Watch(args) => verbs::watch::run(&args),
    };
    match outcome {
        Ok(code) => output::ended(code),
        Err(report) => {
            output::complain!("{}", format!("{report:?}").trim_end());
            ExitCode::from(2)
        }
    }
}
