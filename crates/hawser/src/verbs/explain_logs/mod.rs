//! `hawser explain --logs`: why services were away, from a folder or an archive of logs.

mod taken;
mod unpacked;

use std::path::Path;
use std::process::ExitCode;

use hawser_account::incident::incidents;
use hawser_watch::history::{Known, of_cib};
use miette::bail;

use super::check::now;
use crate::{output, render};
use taken::Taken;

/// Reads the logs and says what they tell; exit code 1 when there is an incident.
pub fn run(path: &Path, json: bool) -> miette::Result<ExitCode> {
    let mut taken = Taken::of(path, now())?;
    let first = |gaps: &[String]| gaps.first().map(|gap| format!("; {gap}"));
    if taken.logs.is_empty() {
        bail!(
            help = "give a folder or an archive that holds corosync.log and pacemaker.log of each head, such as a crm_report or \
                    a sosreport, or what a watch has kept (/var/lib/hawser/incidents)",
            "{}: no corosync.log or pacemaker.log in it{}",
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
    let Known { services, names } = known.unwrap_or_default();
    let mut report = incidents(&taken.logs, &services, &names, taken.recorded);
    if report.heads.iter().all(|head| head.from.is_none()) {
        bail!(
            help = "stamps that are known: \"Nov 22 11:14:13.159\", \"Nov 22 11:14:13\", \"2026-11-22T11:14:13.159+01:00\"",
            "{}: no line of a log in it begins with a time stamp{}",
            path.display(),
            first(&taken.gaps).unwrap_or_default()
        );
    }
    report.read_at = Some(now());
    report.gaps.extend(taken.gaps);
    match json {
        true => output::print(&super::explain::pretty(&report)),
        false => output::print_fitted(&render::incident::text(&report)),
    }
    Ok(ExitCode::from(u8::from(!report.incidents.is_empty())))
}
