//! `hawser apply`: makes the nodes what the cluster file says.

use std::process::ExitCode;

use hawser_cluster::live::{ApplyError, Options, Progress, apply};

use crate::output::{self, say};
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
    let changes = run_on(&known, options)?;
    say!("{changes}");
    Ok(ExitCode::SUCCESS)
}

/// Applies; answers what was done in words.
pub fn run_on(known: &Known, options: Options) -> miette::Result<String> {
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
    let applied = applied.map_err(|e| {
        // Why a node was not reached says more than that it was not.
        let why: Vec<String> = match &e {
            ApplyError::Problems(_) => reached.failed.iter().map(ToString::to_string).collect(),
            _ => Vec::new(),
        };
        miette::miette!("{}", [vec![e.to_string()], why].concat().join("\n"))
    })?;
    Ok(match applied.changes.len() {
        0 => "0 changes".into(),
        1 => "1 change made".into(),
        several => format!("{several} changes made"),
    })
}
