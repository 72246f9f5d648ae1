//! A comparison of hosts as text.

use std::fmt::Write as _;

use hawser_model::names::HostName;
use hawser_model::output::compare::{CompareReport, Difference};

use super::findings::{absent, wrap};
use super::table::{Align, Table};
use crate::output::paint::style;

/// The whole report.
pub fn report(report: &CompareReport) -> String {
    let mut out = String::new();
    absent(&mut out, "Not compared:", &report.absent);
    let hosts: Vec<&str> = report.hosts.iter().map(HostName::as_str).collect();
    let heading = format!(
        "{} {}: {} items compared",
        style("Hosts").bold(),
        hosts.join(", "),
        report.compared
    );
    wrap(&mut out, "", &heading);
    out.push('\n');
    let (named, others): (Vec<&Difference>, Vec<&Difference>) = report
        .differences
        .iter()
        .partition(|item| !item.findings.is_empty());
    table(&mut out, "What a finding is about", &report.hosts, &named);
    let title = match named.is_empty() {
        true => "Differences",
        false => "Other differences",
    };
    table(&mut out, title, &report.hosts, &others);
    let unknown: Vec<&Difference> = report.not_known.iter().collect();
    let title = "Not known on every host, so not compared";
    table(&mut out, title, &report.hosts, &unknown);
    if report.differences.is_empty() {
        let same = match report.not_known.is_empty() {
            true => "No differences.",
            false => "No differences in what is known of all hosts.",
        };
        let _ = writeln!(out, "{}\n", style(same).green());
    }
    let _ = writeln!(out, "Case file: {}", report.case);
    out
}

fn table(out: &mut String, title: &str, hosts: &[HostName], items: &[&Difference]) {
    if items.is_empty() {
        return;
    }
    let _ = writeln!(out, "{}", style(title).bold());
    let mut table = Table::new(&vec![Align::Left; hosts.len() + 2]);
    let heads = ["link", "item"].into_iter();
    let heads = heads.chain(hosts.iter().map(HostName::as_str));
    table.row(heads.map(|head| style(head).dim().to_string()));
    for item in items {
        let link = item.link.as_ref().map_or("", |link| link.as_str());
        let mut row = vec![link.to_owned(), item.item.clone()];
        row.extend(hosts.iter().map(|host| match item.values.get(host) {
            Some(Some(value)) if value.is_empty() => "(empty)".to_owned(),
            Some(Some(value)) => value.clone(),
            Some(None) => style("not known").dim().to_string(),
            None => "–".to_owned(),
        }));
        table.row(row);
    }
    for line in table.lines("  ") {
        let _ = writeln!(out, "{line}");
    }
    for item in items.iter().filter(|item| !item.findings.is_empty()) {
        let said = format!("{}: {}", item.item, item.findings.join(", "));
        wrap(out, "  ", &said);
    }
    out.push('\n');
}
