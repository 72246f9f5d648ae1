//! `hawser incident`: what happened to a cluster that nobody watched, from the heads' own logs.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Duration;

use clap::Subcommand;
use hawser_model::names::HostName;
use hawser_model::output::incident::IncidentsReport;
use hawser_model::toml_file::nearest;
use hawser_watch::history::history;
use miette::bail;

use super::check::now;
use super::explain::pretty;
use crate::cluster::Which;
use crate::waiting::aloud;
use crate::{output, render};

/// How long a head may take to let itself be connected, and then to log in.
const CONNECT: Duration = Duration::from_secs(2);
const LOGIN: Duration = Duration::from_secs(3);

/// Arguments of `hawser incident`.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Heads that were lost or fenced and services that were away, a line each, oldest first
    List(Of),
    /// One incident: what began it, and where each second of its outages went
    Show {
        /// Its name in the list, or `last`
        #[arg(value_name = "ID|last")]
        id: String,
        #[command(flatten)]
        of: Of,
    },
}

#[derive(clap::Args)]
struct Of {
    #[command(flatten)]
    which: Which,
    /// Print one JSON object (docs/schema/incidents.schema.json)
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub fn run(args: &Args) -> miette::Result<ExitCode> {
    let (report, text, json): (_, fn(&IncidentsReport) -> String, _) = match &args.what {
        What::List(of) => (read(&of.which)?, render::incident::list, of.json),
        What::Show { id, of } => (only(read(&of.which)?, id)?, render::incident::text, of.json),
    };
    match json {
        true => output::print(&pretty(&report)),
        false => output::print_fitted(&text(&report)),
    }
    Ok(ExitCode::SUCCESS)
}

/// What the heads' logs tell.
fn read(which: &Which) -> miette::Result<IncidentsReport> {
    let cluster = which.cluster()?;
    let (mut heads, failed) = cluster.within(CONNECT, LOGIN).try_connect()?;
    let unreached: BTreeMap<HostName, String> = failed
        .into_iter()
        .map(|e| (e.host.clone(), e.failure.to_string()))
        .collect();
    let report = aloud("the heads' logs are being read", || {
        history(&mut heads, &unreached, now())
    });
    if report.heads.is_empty() {
        bail!("no head's log could be read: {}", report.gaps.join("; "));
    }
    Ok(report)
}

/// The report with one incident.
fn only(mut report: IncidentsReport, id: &str) -> miette::Result<IncidentsReport> {
    let found = match id {
        "last" => report.incidents.pop(),
        id => {
            let mut all = report.incidents.iter();
            all.find(|incident| incident.id == id).cloned()
        }
    };
    let Some(found) = found else {
        let ids: Vec<&str> = report.incidents.iter().map(|i| i.id.as_str()).collect();
        let meant = nearest(id, &ids).map(|id| format!("did you mean \"{id}\"? "));
        bail!(
            help = format!(
                "{}`hawser incident list` names them",
                meant.unwrap_or_default()
            ),
            "{id}: the heads' logs tell of no such incident"
        );
    };
    report.incidents = vec![found];
    Ok(report)
}
