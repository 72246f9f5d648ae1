//! `hawser status`: is it redundant now, what is degraded, what would happen if a node died.

use std::collections::BTreeMap;
use std::process::ExitCode;

use hawser_cluster::live::{Heads, OnHead, ask_fence_devices, ask_quorum_device, observe, status};
use hawser_cluster::simulate::{CrmSimulate, Simulator};
use hawser_model::names::HostName;
use hawser_model::output::cluster::ClusterStatus;
use miette::{IntoDiagnostic, WrapErr};

use crate::target::{Known, Reached, Target};
use crate::{output, render};

/// Arguments of `hawser status`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// Print one JSON object (docs/schema/status.schema.json)
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub fn run(args: &Args) -> miette::Result<ExitCode> {
    let known = args.target.known()?;
    let mut reached = known.reach_some()?;
    let now = look(&known, &mut reached)?;
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

/// The status of a cluster.
pub fn look(known: &Known, reached: &mut Reached) -> miette::Result<ClusterStatus> {
    let why = |e: &hawser_agent::AgentError| (e.host.clone(), e.failure.to_string());
    let unreached: BTreeMap<HostName, String> = reached.failed.iter().map(why).collect();
    let mut facts = observe(&mut reached.heads, unreached).map_err(|e| miette::miette!("{e}"))?;
    if facts.cib.is_some() {
        let said = ask_fence_devices(&known.file, &mut reached.heads);
        facts.fence_status = said.map_err(|e| miette::miette!("{e}"))?;
        let said = ask_quorum_device(&known.file, &mut reached.heads);
        facts.device = said.map_err(|e| miette::miette!("{e}"))?;
    }
    on_a_member(&mut reached.heads, |simulator| {
        status(&known.file, &facts, simulator).map_err(|e| miette::miette!("{e}"))
    })
}

/// Asks the `crm_simulate` of a node, or this machine's when no node was reached.
fn on_a_member<T>(
    heads: &mut Heads,
    ask: impl FnOnce(&dyn Simulator) -> miette::Result<T>,
) -> miette::Result<T> {
    match heads.values_mut().next() {
        Some(head) => ask(&OnHead::new(head.as_mut())),
        None => ask(&CrmSimulate),
    }
}
