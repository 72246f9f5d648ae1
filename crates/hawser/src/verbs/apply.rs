//! `hawser apply`: makes the nodes what the cluster file says.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use hawser_cluster::host::view::Limits;
use hawser_cluster::live::{Applied, ApplyError, Options, apply};
use hawser_cluster::plan::{Plan, PlanReport};
use hawser_model::output::cluster::ApplyOutput;
use miette::{IntoDiagnostic, WrapErr};

use crate::cluster::{FileOrLab, KnownCluster};
use crate::confirm;
use crate::interrupted::{self, Words};
use crate::output::{self, complain, say};
use crate::saved_plan;
use crate::waiting::aloud;

/// Arguments of `hawser apply`.
#[derive(clap::Args)]
pub struct Args {
    /// A plan that `hawser plan -o` wrote: exactly that is done, or nothing if the cluster is not as it was then
    #[arg(conflicts_with_all = ["file", "lab"])]
    plan: Option<PathBuf>,
    #[command(flatten)]
    cluster: FileOrLab,
    /// Also do what clients notice: pools that stop or move
    #[arg(long)]
    allow_disruption: bool,
    /// Do not ask before the nodes are changed, which are those of no lab. Of a saved plan nobody is asked: it was reviewed
    #[arg(long)]
    yes: bool,
    /// Say what would be done, or why it would be refused, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Also as a unified diff of corosync.conf and the CIB: what is live against what is to be
    #[arg(long)]
    diff: bool,
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
    let reviewed = args.plan.as_deref().map(saved_plan::read).transpose()?;
    let known = match &reviewed {
        Some(plan) => KnownCluster::of_saved(plan, args.cluster.ssh_config.clone())?,
        None => args.cluster.known()?,
    };
    let options = Options {
        allow_disruption: args.allow_disruption,
        reviewed: reviewed.as_ref(),
        timeout: args.timeout,
        limits: Limits::PATIENT.times(known.slowness()),
    };
    // The JSON holds what was changed; what a person watches goes beside it.
    let show: fn(&str) = match args.json {
        true => |text| complain!("{}", text.trim_end()),
        false => output::print_fitted,
    };
    let asks = known.is_real() && !args.yes && reviewed.is_none();
    let mut first = First {
        diff: String::new(),
        dry_run: None,
        dry: args.dry_run,
        shows_diff: args.diff && !args.json,
    };
    let applied = run_on(&known, options, (show, asks), &mut first, &words)?;
    match args.json {
        true => {
            let made = ApplyOutput {
                changed: !applied.changes.is_empty(),
                changes: applied.changes.clone(),
                not_running: applied.not_running.clone(),
                notes: applied.notes.clone(),
                diff: args.diff.then_some(first.diff),
            };
            let json = serde_json::to_string_pretty(&made)
                .into_diagnostic()
                .wrap_err("cannot write what was changed as JSON")?;
            output::print(&(json + "\n"));
        }
        // What would be done is shown already.
        false if args.dry_run && !applied.changes.is_empty() => {}
        // Nobody was asked, so nothing was shown yet.
        false if applied.changes.is_empty() => {
            let notes = applied.notes.clone();
            let nothing = PlanReport {
                notes,
                ..PlanReport::default()
            };
            output::print_fitted(&nothing.to_string());
        }
        false => say!("{}", in_words(&applied)),
    }
    Ok(outcome(&applied))
}

/// The plan that is carried out first, which is the whole one.
struct First {
    /// As a unified diff.
    diff: String,
    /// What it would have changed if it were carried out, and its notes.
    dry_run: Option<Applied>,
    /// It is not.
    dry: bool,
    /// People see the diff before.
    shows_diff: bool,
}

/// How many changes were made.
fn in_words(applied: &Applied) -> String {
    match applied.changes.len() {
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
    known: &KnownCluster,
    options: Options<'_>,
    (show, asks): (fn(&str), bool),
    first: &mut First,
    words: &Words,
) -> miette::Result<Applied> {
    known.check_secrets()?;
    let mut reached = aloud(&known.reaching(), || known.reach())?;
    let mut agreed = |plan: &Plan| {
        show(&plan.report.to_string());
        if first.shows_diff {
            output::document(&plan.diff);
        }
        first.diff.clone_from(&plan.diff);
        if first.dry {
            first.dry_run = Some(Applied {
                changes: plan.report.changes.clone(),
                notes: plan.report.notes.clone(),
                ..Applied::default()
            });
            return Err("nothing was changed".into());
        }
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
    if let (Err(ApplyError::NotAgreed(_)), Some(dry)) = (&applied, first.dry_run.take()) {
        return Ok(dry);
    }
    applied.map_err(|e| {
        // Why a node was not reached says more than that it was not.
        let why: Vec<String> = match &e {
            ApplyError::Problems { .. } => reached.failed.iter().map(ToString::to_string).collect(),
            _ => Vec::new(),
        };
        miette::miette!("{}", [vec![e.to_string()], why].concat().join("\n"))
    })
}
