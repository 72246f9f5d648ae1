//! Findings as text, of whatever was run.

use std::fmt::Write as _;

use hawser_model::case::Absent;
use hawser_model::finding::{Differs, Severity, WordedFinding};

use crate::output::paint::style;
use crate::output::width;

/// The hosts of which nothing is known, each a line behind what was not done.
pub(super) fn absent(out: &mut String, what: &str, hosts: &[Absent]) {
    for Absent { host, reason } in hosts {
        wrap(
            out,
            "",
            &format!("{} {host}: {reason}", style(what).red().bold()),
        );
    }
}

/// The findings, worst first, each with its words.
pub(super) fn findings(findings: &[WordedFinding]) -> String {
    if findings.is_empty() {
        return format!(
            "{}\n\n",
            style("No findings: nothing wrong was seen.").green()
        );
    }
    let mut out = format!("{}\n", style("Findings").bold());
    for (number, worded) in findings.iter().enumerate() {
        let finding = &worded.finding;
        let word = style(finding.severity.word());
        let severity = match finding.severity {
            Severity::Error => word.red().bold(),
            Severity::Warning => word.yellow().bold(),
            Severity::Note => word.cyan().bold(),
        };
        let confidence = finding.confidence.word();
        let _ = writeln!(
            out,
            "  {}. {severity} {}  {}  ({confidence})",
            number + 1,
            style(&finding.code).bold(),
            finding.place,
        );
        wrap(&mut out, "     ", &worded.text);
        differs(&mut out, &worded.differs);
        if !worded.fix.is_empty() {
            wrap(&mut out, "     fix: ", &worded.fix);
        }
        let page = format!("     hawser explain {}", finding.code);
        let _ = writeln!(out, "{}\n", style(page).dim());
    }
    out
}

/// What is set otherwise where the same is not found.
fn differs(out: &mut String, all: &[Differs]) {
    for one in all {
        let elsewhere = match &one.link {
            Some(link) => format!("its {link}"),
            None => one.host.to_string(),
        };
        let Differs {
            item, here, there, ..
        } = one;
        let said = format!("{item} is {here} here and {there} on {elsewhere}");
        wrap(out, "     differs: ", &said);
    }
}

/// Wraps `text` behind `first`; later lines are indented as far.
pub(super) fn wrap(out: &mut String, first: &str, text: &str) {
    let later = " ".repeat(first.len());
    for (i, paragraph) in text.lines().enumerate() {
        let first = if i == 0 { first } else { &later };
        for line in width::wrapped(paragraph, width::text(), first, &later) {
            let _ = writeln!(out, "{line}");
        }
    }
}
