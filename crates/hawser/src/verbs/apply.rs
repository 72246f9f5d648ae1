//! `hawser apply`: makes the nodes what the cluster file says.

use std::process::ExitCode;
use std::time::Duration;

use hawser_cluster::live::{Applied, ApplyError, Options, apply};
use hawser_cluster::plan::PlanReport;
use hawser_model::output::cluster::ApplyOutput;
use miette::{IntoDiagnostic, WrapErr};

use crate::cluster::{Known, Target};
use crate::confirm;
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
    /// Do not ask before the nodes are changed, which are those of no lab
    #[arg(long)]
    yes: bool,
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
    let asks = known.is_real() && !args.yes;
    let applied = run_on(&known, options, (show, asks), &words)?;
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
    (show, asks): (fn(&str), bool),
    words: &Words,
) -> miette::Result<Applied> {
    known.check_secrets()?;
    let mut reached = aloud(&known.reaching(), || known.reach())?;
    let mut agreed = |plan: &PlanReport| {
        show(&plan.to_string());
        if asks && !confirm::yes("The nodes are no lab's.").map_err(|e| e.to_string())? {
            return Err("not confirmed; nothing was done".into());
        }
        Ok(())
    };
    let mut said = |what: &str| {
        words.now(format!(
            "the step under way was: {what}; what was done stays, and `hawser apply` again does the rest"
        ));
        complain!("  {what}");
    };
    let applied = apply(
        &known.file,
        &mut reached.heads,
        &known.secrets,
        options,
        &mut agreed,
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
