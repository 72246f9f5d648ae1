//! `hawser status`: is it redundant now, what is degraded, what would happen if a node died.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use hawser_cluster::host::view::Limits;
use hawser_cluster::live::{Heads, OnHead, StatusFacts, Truth, observe, status};
use hawser_cluster::simulate::{CrmSimulate, Simulator};
use hawser_model::names::HostName;
use hawser_model::output::cluster::ClusterStatus;
use miette::{IntoDiagnostic, WrapErr};

use crate::target::{Known, Reached, Target};
use crate::{output, render};

/// How long a node may take to let itself be connected: one without power must not keep the others' answer back.
const SOON: Duration = Duration::from_secs(3);

/// How long the heartbeat links are watched for losses: some ten of kronosnet's pings from each end.
const WATCH: Duration = Duration::from_secs(2);

/// Arguments of `hawser status`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// Print one JSON object (docs/schema/status.schema.json)
    #[arg(long)]
    json: bool,
    /// Also write what each head answered to this file, as JSON: what a bug report needs
    #[arg(long, value_name = "FILE")]
    facts: Option<PathBuf>,
}

/// Runs the verb.
pub fn run(args: &Args) -> miette::Result<ExitCode> {
    let known = args.target.known()?;
    let mut reached = known.reach_within(SOON)?;
    let facts = ask(&known, &mut reached, Limits::PROMPT, WATCH);
    if let Some(path) = &args.facts {
        let text = serde_json::to_string_pretty(&facts)
            .into_diagnostic()
            .wrap_err("write what the heads answered as JSON")?;
        std::fs::write(path, text + "\n")
            .into_diagnostic()
            .wrap_err_with(|| format!("write {}", path.display()))?;
    }
    let now = judge(&known, &mut reached.heads, &facts)?;
    match args.json {
        true => {
            let json = serde_json::to_string_pretty(&now)
                .into_diagnostic()
                .wrap_err("write the status as JSON")?;
            output::print(&(json + "\n"));
        }
        false => output::print(&render::status::text(&now)),
    }
    Ok(match now.redundant && now.degraded.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(1),
    })
}

/// The status of a cluster, for whoever asks again and again: its links are not watched.
pub fn look(known: &Known, reached: &mut Reached) -> miette::Result<ClusterStatus> {
    let facts = ask(known, reached, Limits::PATIENT, Duration::ZERO);
    judge(known, &mut reached.heads, &facts)
}

fn ask(known: &Known, reached: &mut Reached, limits: Limits, watch: Duration) -> StatusFacts {
    let why = |e: &hawser_agent::AgentError| (e.host.clone(), e.failure.to_string());
    let unreached: BTreeMap<HostName, String> = reached.failed.iter().map(why).collect();
    observe(&known.file, &mut reached.heads, unreached, limits, watch)
}

/// Judges, by the `crm_simulate` of the head that is believed: the very version that decides there.
fn judge(known: &Known, heads: &mut Heads, facts: &StatusFacts) -> miette::Result<ClusterStatus> {
    let from = Truth::of(&facts.views).from;
    let head = from.and_then(|from| heads.get_mut(&from));
    let judge = |simulator: &dyn Simulator| {
        status(&known.file, facts, simulator).map_err(|e| miette::miette!("{e}"))
    };
    match head {
        Some(head) => judge(&OnHead::new(head.as_mut())),
        None => judge(&CrmSimulate),
    }
}
