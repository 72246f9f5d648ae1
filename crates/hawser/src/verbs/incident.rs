//! `hawser incident`: what happened to a cluster that nobody watched, from the heads' own logs.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Subcommand;
use hawser_host::Hosts;
use hawser_model::output::incident::{IncidentsReport, ListedIncident};
use hawser_model::toml_file::nearest;
use hawser_report::Source;
use hawser_watch::around::with_readings;
use hawser_watch::history::history;
use hawser_watch::promised::promised;
use miette::bail;

use super::check::now;
use super::explain::pretty;
use super::report::written;
use crate::cluster::{Which, why_not};
use crate::output::complain;
use crate::parse;
use crate::waiting::aloud;
use crate::{output, render};

/// Arguments of `hawser incident`.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Heads that were lost or fenced, services that were away and heartbeat links that were down, a line each, oldest first
    List(Of),
    /// One incident: what began it, and where each second of its outages went
    Show {
        /// Its name in the list, or `last`
        #[arg(value_name = "ID|last", add = crate::names::incidents())]
        id: String,
        #[command(flatten)]
        of: Of,
    },
    /// One incident as one self-contained page: the account, and the lines of the logs that prove it
    Report {
        /// Its name in the list, or `last`
        #[arg(value_name = "ID|last", add = crate::names::incidents())]
        id: String,
        /// Where to write the page [default: incident-ID.html in this folder]
        #[arg(short, long, value_name = "FILE", value_parser = parse::output)]
        output: Option<PathBuf>,
        #[command(flatten)]
        which: Which,
    },
}

#[derive(clap::Args)]
struct Of {
    #[command(flatten)]
    which: Which,
    /// Print JSON: of the list an array (docs/schema/incident-list.schema.json), of one incident an object
    /// (docs/schema/incidents.schema.json)
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub fn run(args: &Args) -> miette::Result<ExitCode> {
    match &args.what {
        What::List(of) => {
            let report = read(&of.which, None)?;
            match of.json {
                true => output::print(&pretty(&listed(report))),
                false => output::print_fitted(&render::incident::list(&report)),
            }
        }
        What::Show { id, of } => {
            show(&read(&of.which, Some(id))?, of.json);
        }
        What::Report { id, output, which } => {
            let report = read(which, Some(id))?;
            return page(&report, output.as_deref());
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints a report in full.
pub(super) fn show(report: &IncidentsReport, json: bool) {
    match json {
        true => output::print(&pretty(report)),
        false => output::print_fitted(&render::incident::shown(report)),
    }
}

/// A line each; what stood in the way of telling more is no part of the list, and is said beside it.
fn listed(report: IncidentsReport) -> Vec<ListedIncident> {
    for gap in &report.gaps {
        complain!("{gap}");
    }
    let incidents = report.incidents.into_iter();
    incidents.map(ListedIncident::from).collect()
}

/// What the heads' logs tell.
pub(super) fn told(which: &Which) -> miette::Result<(Hosts, IncidentsReport)> {
    let cluster = which.cluster()?;
    let (mut heads, failed) = cluster.promptly(1).try_connect()?;
    let unreached = why_not(&failed);
    let mut report = aloud("the heads' logs are being read", || {
        history(&mut heads, &unreached, cluster.cluster_file(), now())
    });
    report.read_at = Some(now());
    if report.heads.is_empty() {
        bail!("no head's log could be read: {}", report.gaps.join("; "));
    }
    if let Some(file) = cluster.cluster_file() {
        for incident in &mut report.incidents {
            incident.promises = promised(file, incident);
        }
    }
    Ok((heads, report))
}

/// The same; of one incident also what the heads' watches have read around it.
fn read(which: &Which, id: Option<&str>) -> miette::Result<IncidentsReport> {
    let (mut heads, mut report) = told(which)?;
    let Some(id) = id else {
        return Ok(report);
    };
    report = only(report, id)?;
    aloud("the heads' readings are being read", || {
        with_readings(&mut heads, &mut report);
    });
    Ok(report)
}

/// Writes the page of the one incident there is.
fn page(report: &IncidentsReport, output: Option<&Path>) -> miette::Result<ExitCode> {
    let incident = report.incidents.first();
    let incident = incident.expect("a report of one incident");
    let own = PathBuf::from(format!("incident-{}.html", incident.id));
    let page =
        hawser_report::incident_page(report, incident, Source::Logs, env!("CARGO_PKG_VERSION"));
    written(&page, output.unwrap_or(&own))
}

/// An incident is called by the second in which it began. When another head's log is there too, it may turn out to have begun
/// so many seconds earlier or later.
const MOVES: u32 = 5;

/// How many seconds lie between two names of incidents, of one day.
fn apart(one: &str, other: &str) -> Option<u32> {
    let second = |id: &str| {
        let (day, time) = id.split_once('-')?;
        let digits = time.len() == 6 && time.bytes().all(|b| b.is_ascii_digit());
        let part = |at: usize| time.get(at..at + 2)?.parse::<u32>().ok();
        digits.then_some(())?;
        Some((day.to_owned(), part(0)? * 3600 + part(2)? * 60 + part(4)?))
    };
    let (one, other) = (second(one)?, second(other)?);
    (one.0 == other.0).then(|| one.1.abs_diff(other.1))
}

/// The report with one incident.
fn only(mut report: IncidentsReport, id: &str) -> miette::Result<IncidentsReport> {
    let found = match id {
        "last" => report.incidents.pop(),
        id => {
            let near = report.incidents.iter();
            let near = near.filter_map(|it| Some((apart(&it.id, id)?, it)));
            let near = near.filter(|(seconds, _)| *seconds <= MOVES);
            near.min_by_key(|(seconds, _)| *seconds)
                .map(|(_, incident)| incident.clone())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_incidents_are_told_apart_by_seconds() {
        assert_eq!(apart("20261125-192600", "20261125-192600"), Some(0));
        assert_eq!(apart("20261125-192600", "20261125-192559"), Some(1));
        assert_eq!(apart("20261125-192600", "20261124-192600"), None);
        for odd in [
            "",
            "last",
            "20261125-",
            "20261125-1926",
            "20261125-19260\u{e9}",
            "20261125-1926001",
        ] {
            assert_eq!(apart("20261125-192600", odd), None, "{odd}");
        }
    }
}
