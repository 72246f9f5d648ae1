//! A copy as text: how fast, how it went over time, which stage was busy, the findings.

use std::fmt::Write as _;

use hawser_model::output::copy::CopyReport;
use hawser_model::shell::word;
use hawser_model::units::{Bytes, mb_per_s};

use super::findings::{findings, wrap};
use super::rate_chart;
use super::table::{Align, Table};
use crate::output::paint::style;

/// The whole report. What failed is said by its caller, on stderr.
pub fn report(report: &CopyReport) -> String {
    let mut out = format!(
        "{} {}:{} → {}:{} over {}\n",
        style("Copy").bold(),
        report.from,
        report.source,
        report.to,
        report.destination,
        report.link
    );
    let _ = writeln!(out, "  {}{}", style(report.speed()).bold(), also(report),);
    if let Some(proven) = report.proven() {
        let _ = writeln!(out, "  {proven}");
    }
    out.push('\n');
    for line in rate_chart::lines(&report.rate, report.change.as_ref()) {
        let _ = writeln!(out, "  {line}");
    }
    // What is over at once shows nothing of its stages.
    if report.seconds >= 0.01 && report.moved_bytes > 0 {
        out.push_str(&stages(report));
    }
    if report.error.is_none() && !report.findings.is_empty() {
        out.push_str(&findings(&report.findings));
    }
    if !report.case.is_empty() {
        let _ = writeln!(out, "Case file: {}", report.case);
    }
    out
}

/// The part that is left, and how it is removed; empty if none is. Its last line is a command, which must not be wrapped.
pub fn left(report: &CopyReport) -> String {
    let Some(part) = &report.part else {
        return String::new();
    };
    let to = &report.to;
    let mut out = "\n".to_owned();
    wrap(
        &mut out,
        "  ",
        &format!(
            "What came is left on {to} in {part}. The same command goes on from there, once what stopped it is mended. Or \
             remove it on {to}:"
        ),
    );
    let name = part.strip_suffix(".hawser-part");
    let state = name.map(|name| format!("{name}.hawser-state"));
    let files: Vec<String> = [part]
        .into_iter()
        .chain(&state)
        .map(|it| word(it))
        .collect();
    let _ = writeln!(out, "  rm {}", files.join(" "));
    out
}

/// How it was done, where that is not the plain way.
fn also(report: &CopyReport) -> String {
    let mut also = String::new();
    if report.streams > 1 {
        let _ = write!(also, ", {} streams", report.streams);
    }
    if let Some(cipher) = report.cipher {
        let _ = write!(also, ", {}", cipher.choice().name().to_uppercase());
    }
    if report.zero_copy {
        also.push_str(", inside the kernel");
    }
    for (bytes, what) in [
        (report.kept_bytes, "kept from before"),
        (report.hole_bytes, "of holes"),
    ] {
        if bytes > 0 {
            let _ = write!(also, ", {} {what}", Bytes(bytes));
        }
    }
    also
}

fn stages(report: &CopyReport) -> String {
    let mut table = Table::new(&[Align::Left, Align::Right, Align::Right, Align::Right]);
    table.row(["stage", "busy", "waiting", "alone"]);
    for stage in &report.stages {
        table.row([
            stage.stage.word().to_owned(),
            format!("{:.0} %", stage.busy_percent),
            if stage.waiting_s > 0.0 {
                format!("{:.2} s", stage.waiting_s)
            } else {
                String::new()
            },
            stage.mb_per_s.map(mb_per_s).unwrap_or_default(),
        ]);
    }
    let mut out = table.lines("  ").join("\n");
    out.push_str("\n\n");
    out
}
