//! `hawser explain --logs` and `--host`: why services were away, from a folder or an archive of logs, or from the heads' own.

mod heads;
mod names;
mod syslog;
mod taken;
mod unpacked;

use std::path::Path;
use std::process::ExitCode;

use hawser_account::incident::{Asked, AskedTime, incidents, last};
use hawser_model::drill::Moment;
use hawser_model::output::incident::IncidentsReport;
use hawser_watch::history::{ClusterNames, of_cib};
use miette::bail;

use super::check::now;
use crate::{output, render};
use taken::Taken;

pub use heads::of_heads;

/// Which time is asked about.
#[derive(clap::Args)]
pub struct Time {
    /// Of logs: no incident that was over before this, local time of the heads: "2026-11-27 03:12", "03:12" (the last one) or
    /// "2h" (before now; with --logs, before the last line)
    #[arg(long, value_name = "TIME", conflicts_with_all = ["case", "list"])]
    since: Option<AskedTime>,
    /// Of logs: none that began after this; a time of day is the first one after --since
    #[arg(long, value_name = "TIME", conflicts_with_all = ["case", "list"])]
    until: Option<AskedTime>,
}

impl Time {
    /// Whether any is.
    pub fn is_asked(&self) -> bool {
        self.since.is_some() || self.until.is_some()
    }

    fn only(&self, report: &mut IncidentsReport, now: Moment) -> miette::Result<()> {
        let asked = Asked {
            since: self.since,
            until: self.until,
        };
        let within = asked.only(report, now);
        within.map_err(|why| miette::miette!("--since and --until: {why}"))
    }
}

/// Reads the logs and says what they tell; exit code 1 when there is an incident.
pub fn run(path: &Path, time: &Time, json: bool) -> miette::Result<ExitCode> {
    let mut taken = Taken::of(path, now())?;
    let first = |gaps: &[String]| gaps.first().map(|gap| format!("; {gap}"));
    if taken.logs.is_empty() {
        bail!(
            help = "give a folder or an archive that holds corosync.log and pacemaker.log of each head, such as a crm_report or \
                    a sosreport, what a watch has kept (/var/lib/hawser/incidents), or a syslog with their lines",
            "{}: no corosync.log or pacemaker.log in it, and no syslog with a line of theirs{}",
            path.display(),
            first(&taken.gaps).unwrap_or_default()
        );
    }
    let known = taken.cib.as_ref().and_then(|(place, bytes)| {
        let known = of_cib(&String::from_utf8_lossy(bytes));
        if known.is_none() {
            taken.gaps.push(format!(
                "{place}: not a CIB; services are told by the names of their resources"
            ));
        }
        known
    });
    let ClusterNames { services, names } = known.unwrap_or_default();
    let mut report = incidents(&taken.logs, &services, &names, taken.recorded);
    if report.heads.iter().all(|head| head.from.is_none()) {
        bail!(
            help = "stamps that are known: \"Nov 22 11:14:13.159\", \"Nov 22 11:14:13\", \"2026-11-22T11:14:13.159+01:00\", \
                    \"Sun 2026-11-22 11:14:13 CET\"",
            "{}: no line of a log in it begins with a time stamp{}",
            path.display(),
            first(&taken.gaps).unwrap_or_default()
        );
    }
    report.read_at = Some(now());
    report.gaps.extend(taken.gaps);
    let now = last(&report).unwrap_or(Moment(taken.recorded.saturating_mul(1_000_000)));
    time.only(&mut report, now)?;
    Ok(show(&report, json))
}

fn show(report: &IncidentsReport, json: bool) -> ExitCode {
    match json {
        true => output::print(&super::explain::pretty(report)),
        false => output::print_fitted(&render::incident::text(report)),
    }
    ExitCode::from(u8::from(!report.incidents.is_empty()))
}
