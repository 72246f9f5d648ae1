//! `hawser apply`: makes the nodes what the cluster file says.

use std::process::ExitCode;
use std::time::Duration;

use hawser_cluster::live::{Applied, ApplyError, Options, Progress, apply};
use hawser_model::output::cluster::ApplyOutput;
use miette::{IntoDiagnostic, WrapErr};

use crate::cluster::{Known, Target};
use crate::interrupted::{self, Words};
use crate::output::{self, complain, say};
use crate::waiting::aloud;

/// Arguments of `hawser apply`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// Also do what clients notice: pools that stop or move
    #[arg(long)]
    allow_disruption: bool,
    /// How long Pacemaker is waited for each time [default: as long as the slowest pool may take to stop and start]
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    timeout: Option<Duration>,
    /// Print one JSON object (docs/schema/apply.schema.json)
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub fn run(args: Args) -> miette::Result<ExitCode> {
    let words = interrupted::says("nothing was changed")?;
    let known = args.target.known()?;
    let options = Options {
        allow_disruption: args.allow_disruption,
        timeout: args.timeout,
    };
    // The JSON holds what was changed; what a person watches goes beside it.
    let show: fn(&str) = match args.json {
        true => |text| complain!("{}", text.trim_end()),
        false => output::print_fitted,
    };
    let applied = run_on(&known, options, show, &words)?;
    match args.json {
        true => {
            let made = ApplyOutput {
                changes: applied.changes.clone(),
                not_running: applied.not_running.clone(),
            };
            let json = serde_json::to_string_pretty(&made)
                .into_diagnostic()
                .wrap_err("cannot write what was changed as JSON")?;
            output::print(&(json + "\n"));
        }
        false => say!("{}", in_words(&applied)),
    }
    Ok(outcome(&applied))
}

/// How many changes were made.
fn in_words(applied: &Applied) -> String {
    match applied.changes.len() {
        0 => "0 changes".into(),
        1 => "1 change made".into(),
        several => format!("{several} changes made"),
    }
}

/// Says what does not run although everything is as the file says.
fn outcome(applied: &Applied) -> ExitCode {
    if applied.not_running.is_empty() {
        return ExitCode::SUCCESS;
    }
    complain!("configuration applied, but:");
    for what in &applied.not_running {
        complain!("    {what}");
    }
    ExitCode::from(1)
}

fn run_on(
    known: &Known,
    options: Options,
    show: fn(&str),
    words: &Words,
) -> miette::Result<Applied> {
    known.check_secrets()?;
    let mut reached = aloud(&known.reaching(), || known.reach())?;
    let mut said = |progress: Progress<'_>| match progress {
        Progress::Planned(report) => show(&report.to_string()),
        Progress::Doing(what) => {
            words.now(format!(
                "the step under way was: {what}; what was done stays, and `hawser apply` again does the rest"
            ));
            complain!("  {what}");
        }
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
