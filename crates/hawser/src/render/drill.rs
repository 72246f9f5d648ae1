//! A drill as text: whether it passed, the outage and what it was made of, the promises, the findings.

use std::fmt::Write as _;

use hawser_model::drill::DrillCase;
use hawser_model::names::HostName;
use hawser_model::output::drill::{DrillReport, OutagePhase};
use hawser_model::units::grouped;

use super::findings::findings;
use super::table::{Align, Table};
use crate::output::paint::style;
use crate::output::width::columns;

/// Width of the picture of the account on a wide terminal.
const PICTURE: usize = 60;

/// The whole report.
pub fn text(case: &DrillCase, report: &DrillReport) -> String {
    let verdict = match report.passed {
        true => style("passed").green(),
        false => style("FAILED").red().bold(),
    };
    let mut out = format!(
        "{} {verdict}",
        style(format!("Drill {}", report.scenario)).bold()
    );
    if !case.scenario.about.is_empty() {
        let _ = write!(out, ": {}", case.scenario.about);
    }
    out.push_str("\n\n");
    out.push_str(&writes(case, report));
    out.push_str(&account(report));
    out.push_str(&promises(report));
    if !report.findings.is_empty() {
        out.push_str(&findings(&report.findings));
    }
    if !report.case.is_empty() {
        let _ = writeln!(out, "Case file: {}", report.case);
    }
    out
}

fn writes(case: &DrillCase, report: &DrillReport) -> String {
    let writes = report.writes;
    let mut out = format!(
        "  {} acknowledged writes lost ({} acknowledged, {} stale, {} torn)\n",
        grouped(writes.lost),
        grouped(writes.acknowledged),
        grouped(writes.stale),
        grouped(writes.torn)
    );
    if writes.gone_with_cache > 0 {
        let _ = writeln!(
            out,
            "  {} more went with a write cache, and a client that lives on does not write \
             them again",
            grouped(writes.gone_with_cache)
        );
    }
    if let Some(load) = case.client.load {
        let _ = writeln!(
            out,
            "  by {} writers, {} orders in flight each, {} a second, {} KiB in a write, {} % reads",
            load.writers,
            load.depth,
            grouped(load.rate.into()),
            load.order_bytes / 1024,
            load.reads
        );
    }
    let heads = match report.two_active {
        true => style("TWO HEADS HAD A POOL AT THE SAME TIME").red().bold(),
        false => style("no pool was seen on two heads"),
    };
    let fenced: Vec<&str> = report.fenced.iter().map(HostName::as_str).collect();
    let fenced = match fenced.is_empty() {
        true => "nobody".to_owned(),
        false => fenced.join(", "),
    };
    let _ = writeln!(out, "  {heads}; fenced: {fenced}; seed {}\n", report.seed);
    out
}

/// The outage, a line a phase, with a bar where it stands in time.
fn account(report: &DrillReport) -> String {
    let over = match report.outage_over {
        true => "",
        false => ", and it did not end",
    };
    let mut out = format!(
        "{} {}{over}\n",
        style("The client waited").bold(),
        style(format!("{:.3} s", report.outage_s)).bold()
    );
    if let Some(held_open_s) = report.held_open_s {
        let _ = writeln!(
            out,
            "  to create a file; the writers, which had one open, waited {held_open_s:.3} s"
        );
    }
    if report.outage_s <= 0.0 {
        return out + "\n";
    }
    out.push_str(&parts(
        &report.phases,
        report.unattributed_s,
        report.outage_s,
    ));
    if report.clock_error_s > 0.0 {
        let _ = writeln!(
            out,
            "  between two machines a boundary may be off by {:.3} s: their clocks",
            report.clock_error_s
        );
    }
    out.push('\n');
    out
}

/// What an outage was made of: a line a phase, then what nothing marks, then the sum.
pub(super) fn parts(phases: &[OutagePhase], unattributed_s: f64, outage_s: f64) -> String {
    let mut table = Table::new(&[Align::Left, Align::Right, Align::Left, Align::Picture]);
    for phase in phases {
        table.row([
            phase.name.clone(),
            format!("{:.3} s", phase.seconds),
            phase.host.to_string(),
            bar(phase, outage_s),
        ]);
    }
    table.row(["unattributed".to_owned(), format!("{unattributed_s:.3} s")]);
    table.row(["in all".to_owned(), format!("{outage_s:.3} s")]);
    let lines = table.lines("  ").into_iter();
    lines.map(|line| line + "\n").collect()
}

/// `      ▇▇▇▇`.
fn bar(phase: &OutagePhase, whole: f64) -> String {
    let wide = PICTURE.min(columns() / 3);
    let column = |seconds: f64| (seconds / whole * wide as f64).round() as usize;
    let from = column(phase.start_s).min(wide);
    let to = column(phase.start_s + phase.seconds).min(wide);
    let wide = to.saturating_sub(from);
    match wide {
        0 => format!("{}▏", " ".repeat(from)),
        wide => format!("{}{}", " ".repeat(from), "▇".repeat(wide)),
    }
}

/// Those that broke in words, the others counted.
fn promises(report: &DrillReport) -> String {
    let held = report
        .promises
        .iter()
        .filter(|promise| promise.held)
        .count();
    let mut out = format!(
        "{} of {} promises held\n",
        style(held).bold(),
        report.promises.len()
    );
    for promise in report.promises.iter().filter(|promise| !promise.held) {
        let _ = writeln!(
            out,
            "  {} {}: {}",
            style("broken").red().bold(),
            promise.promise,
            promise.text
        );
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> DrillReport {
        let text = include_str!("../../../../cases/drill/two-heads/expected.json");
        serde_json::from_str(text).expect("a report")
    }

    #[test]
    fn what_went_with_a_write_cache_is_said() {
        let said = |gone| {
            let mut report = report();
            report.writes.gone_with_cache = gone;
            console::strip_ansi_codes(&text(&case(), &report)).into_owned()
        };
        assert!(said(3).contains("3 more went with a write cache"));
        assert!(!said(0).contains("write cache"));
    }

    fn case() -> DrillCase {
        hawser_cases::read("drill/two-heads")
    }

    #[test]
    fn a_broken_promise_is_said_and_every_phase_has_its_line() {
        let report = report();
        let text = console::strip_ansi_codes(&text(&case(), &report)).into_owned();
        assert!(text.starts_with("Drill two-heads FAILED"), "{text}");
        assert!(
            text.contains("broken no-two-heads: vmpool01 was active on"),
            "{text}"
        );
        assert!(text.contains("0 acknowledged writes lost"), "{text}");
        for phase in &report.phases {
            let line = text
                .lines()
                .find(|line| line.trim_start().starts_with(&phase.name));
            assert!(line.is_some(), "{}: {text}", phase.name);
        }
        let last = report.phases.last().expect("a phase");
        assert!(bar(last, report.outage_s).chars().count() <= PICTURE + 1);
    }
}
