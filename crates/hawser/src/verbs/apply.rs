//! `hawser apply`: makes the nodes what the cluster file says.

use std::process::ExitCode;

use hawser_cluster::live::{Applied, ApplyError, Options, Progress, apply};

use crate::output::{self, complain, say};
use crate::target::{Known, Target};

/// Arguments of `hawser apply`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// Also do what clients notice: pools that stop or move
    #[arg(long)]
    allow_disruption: bool,
}

/// Runs the verb.
pub fn run(args: Args) -> miette::Result<ExitCode> {
    let known = args.target.known()?;
    let options = Options {
        allow_disruption: args.allow_disruption,
    };
    let applied = run_on(&known, options)?;
    say!("{}", in_words(&applied));
    Ok(outcome(&applied))
}

/// How many changes were made.
pub fn in_words(applied: &Applied) -> String {
    match applied.changes.len() {
        0 => "0 changes".into(),
        1 => "1 change made".into(),
        several => format!("{several} changes made"),
    }
}

/// Says what does not run although everything is as the file says.
pub fn outcome(applied: &Applied) -> ExitCode {
    if applied.not_running.is_empty() {
        return ExitCode::SUCCESS;
    }
    complain!("the nodes are what the file says, but not everything is well:");
    for what in &applied.not_running {
        complain!("    {what}");
    }
    ExitCode::from(1)
}

/// Applies.
pub fn run_on(known: &Known, options: Options) -> miette::Result<Applied> {
    known.check_secrets()?;
    let mut reached = known.reach()?;
    let mut said = |progress: Progress<'_>| match progress {
        Progress::Planned(report) => output::print(&report.to_string()),
        Progress::Doing(what) => say!("  {what}"),
    };
    let applied = apply(
        &known.file,
        &mut reached.heads,
        &known.secrets,
        options,
        &mut said,
    );
    applied.map_err(|e| {
        // Why a node was not reached says more than that it was not.
        let why: Vec<String> = match &e {
            ApplyError::Problems(_) => reached.failed.iter().map(ToString::to_string).collect(),
            _ => Vec::new(),
        };
        miette::miette!("{}", [vec![e.to_string()], why].concat().join("\n"))
    })
}
