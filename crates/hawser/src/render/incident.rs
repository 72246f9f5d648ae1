//! What the logs of a cluster's heads tell: its outages, each with its account.

use std::fmt::Write as _;

use hawser_model::names::HostName;
use hawser_model::output::incident::{IncidentReport, IncidentsReport, ServiceOutage};
use hawser_model::visible;

use super::drill::parts;
use super::findings::findings;
use crate::output::paint::style;

const NONE: &str = "No head was lost or fenced, no service was away and no heartbeat link was down, as far as these logs go.\n";

/// All incidents, oldest first, and what stood in the way of telling more.
pub fn text(report: &IncidentsReport) -> String {
    let mut out = String::new();
    for head in &report.heads {
        let when = match (&head.from, &head.to) {
            (Some(from), Some(to)) => format!(", {from} to {to}"),
            _ => String::new(),
        };
        let syslog = head.syslog.map(|lines| format!(", {lines} of syslog"));
        let _ = writeln!(
            out,
            "{}: {} lines of corosync.log, {} of pacemaker.log{}{when}",
            head.host,
            head.corosync,
            head.pacemaker,
            syslog.unwrap_or_default()
        );
    }
    if report.incidents.is_empty() {
        out.push('\n');
        out.push_str(NONE);
    }
    for incident in &report.incidents {
        out.push_str(&one(incident));
    }
    out.push_str(&gaps(report));
    if let Some(error_s) = report
        .clock_error_s
        .filter(|_| !report.incidents.is_empty())
    {
        let _ = writeln!(
            out,
            "\nBetween two heads a boundary may be off by {error_s:.3} s. No client is heard here: one may have noticed an \
             outage later and come back later."
        );
    }
    out
}

/// The same, with the lines that mark each step and what the heads' watches read meanwhile.
pub fn shown(report: &IncidentsReport) -> String {
    let mut out = text(report);
    for incident in &report.incidents {
        out.push_str(&course(incident));
    }
    out
}

/// Lines and changes of all heads, in the order of time.
fn course(incident: &IncidentReport) -> String {
    let mut out = String::new();
    for head in &incident.readings {
        let _ = writeln!(
            out,
            "\n{} {:+.3} s from the beginning",
            style(format!("As {} read it,", head.host)).bold(),
            head.first_s
        );
        for noted in &head.first {
            let _ = writeln!(out, "  {}", visible::one_line(&noted.to_string()));
        }
    }
    let all = incident.course();
    if all.is_empty() {
        return out;
    }
    let _ = writeln!(
        out,
        "\n{}, in seconds from the beginning",
        style("What was logged and read").bold()
    );
    for step in all {
        let text = step.text.replace('\t', " ");
        let text = visible::one_line(&text);
        let _ = writeln!(
            out,
            "  {:8.3}  {} {}: {text}",
            step.at_s, step.host, step.by
        );
    }
    if incident.lines_left_out > 0 {
        let more = incident.lines_left_out;
        let _ = writeln!(out, "  {more} more lines are in the logs alone");
    }
    out
}

/// A line an incident.
pub fn list(report: &IncidentsReport) -> String {
    let mut out = String::new();
    for incident in &report.incidents {
        let _ = writeln!(
            out,
            "{}  {}: {}",
            style(&incident.id).bold(),
            incident.away(),
            incident.trigger
        );
    }
    if report.incidents.is_empty() {
        out.push_str(NONE);
    }
    out.push_str(&gaps(report));
    out
}

fn gaps(report: &IncidentsReport) -> String {
    let mut out = String::new();
    if !report.gaps.is_empty() {
        let _ = writeln!(out, "\n{}", style("What stood in the way").bold());
        for gap in &report.gaps {
            let _ = writeln!(out, "  - {gap}");
        }
    }
    out
}

fn one(incident: &IncidentReport) -> String {
    let mut out = format!(
        "\n{} {}\n",
        style(format!("Incident {}:", incident.id)).bold(),
        incident.trigger
    );
    // Where nothing but links was down nobody asks who was fenced.
    let of_links = incident.outage_s.is_none();
    let fenced: Vec<&str> = incident.fenced.iter().map(HostName::as_str).collect();
    let fenced = match fenced.is_empty() {
        true => "nobody".to_owned(),
        false => fenced.join(", "),
    };
    let _ = match of_links {
        true => writeln!(out, "  began {}", incident.began),
        false => writeln!(out, "  began {}; fenced: {fenced}", incident.began),
    };
    match &incident.cause {
        Some(cause) => {
            let _ = writeln!(out, "  {cause}");
        }
        None => out.push_str("  why it happened is not in these logs\n"),
    }
    for promise in &incident.promises {
        let held = match promise.held {
            true => style("kept").green(),
            false => style("broken").red().bold(),
        };
        let _ = writeln!(out, "  {held}: {}", promise.text);
    }
    for link in &incident.links {
        let _ = writeln!(out, "  {}", link.sentence());
    }
    if incident.services.is_empty() {
        out.push_str("  no service was away for it\n");
    }
    for service in &incident.services {
        out.push_str(&away(service));
    }
    out
}

fn away(outage: &ServiceOutage) -> String {
    let mut out = format!(
        "\n{} was away for {}{}{}\n",
        style(&outage.service).bold(),
        outage.least(),
        style(format!("{:.3} s", outage.outage_s)).bold(),
        outage.end(),
    );
    if outage.at_least {
        out.push_str("  (a check found it dead; since when it was, the logs do not say)\n");
    }
    out.push_str(&parts(
        &outage.phases,
        outage.unattributed_s,
        outage.outage_s,
    ));
    if !outage.findings.is_empty() {
        out.push('\n');
        out.push_str(findings(&outage.findings).trim_end_matches('\n'));
        out.push('\n');
    }
    out
}
