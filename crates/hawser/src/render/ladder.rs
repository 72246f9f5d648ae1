//! A ladder as text: a bar a rung, the loss between them, the whole path, the findings.

use std::fmt::Write as _;

use hawser_model::case::Case;
use hawser_model::ladder::LadderRun;
use hawser_model::output::{LadderReport, RungReport, SentAgain, Step};
use hawser_model::units::{Packets, grouped};

use super::findings::{findings, wrap};
use super::table::{Align, Table};
use crate::output::paint::style;
use crate::output::width::columns;

/// Cells of the longest bar on a wide terminal.
const BAR: usize = 40;

/// The whole report.
pub fn report(case: &Case, run: &LadderRun, report: &LadderReport) -> String {
    let mut out = heading(case, run);
    out.push_str(&rungs(report));
    out.push_str(&blocks(case, report));
    out.push_str(&steps(report));
    out.push_str(&missing(run));
    out.push_str(&findings(&report.findings));
    let _ = writeln!(out, "Case file: {}", report.case);
    out
}

fn heading(case: &Case, run: &LadderRun) -> String {
    let cipher = run.cipher.map_or("not encrypted".to_owned(), |c| c.name());
    let end = |path: &Option<std::path::PathBuf>| {
        path.as_ref()
            .map_or("memory".to_owned(), |p| p.display().to_string())
    };
    format!(
        "{} {}: {} ({}) → {} ({}) on {}, {cipher}\n\n",
        style("Ladder").bold(),
        case.topology.cluster,
        run.from,
        end(&run.source.path),
        run.to,
        end(&run.sink.path),
        run.link,
    )
}

fn number(mb: f64) -> String {
    match mb.abs() >= 100.0 {
        true if mb >= 0.0 => grouped(mb.round() as u64),
        true => format!("−{}", grouped(-mb.round() as u64)),
        false => format!("{mb:.1}"),
    }
}

fn bar(mb: f64, best: f64) -> String {
    let eighths = match best > 0.0 {
        true => (mb / best * (BAR.min(columns() / 3) * 8) as f64).round() as usize,
        false => 0,
    };
    let parts = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    format!("{}{}", "█".repeat(eighths / 8), parts[eighths % 8])
}

/// How much its slices vary; of one that varies too much its rate says nothing.
fn spread(rung: &RungReport) -> String {
    match rung.measurable() {
        true => format!("±{:.0} %", rung.spread * 100.0),
        false => "not measurable".to_owned(),
    }
}

fn rungs(report: &LadderReport) -> String {
    use Align::{Left, Picture, Right};
    let best = report.rungs.first().map_or(0.0, |r| r.mb_per_s);
    let mut table = Table::new(&[Left, Right, Right, Picture]);
    let heads = ["rung", "MB/s", "spread", ""];
    table.row(heads.map(|h| style(h).dim().to_string()));
    for rung in &report.rungs {
        table.row([
            rung.name.clone(),
            number(rung.mb_per_s),
            style(spread(rung)).dim().to_string(),
            bar(rung.mb_per_s, best),
        ]);
    }
    table.row([
        style("whole path").bold().to_string(),
        style(number(report.whole_mb_per_s)).bold().to_string(),
        String::new(),
        style(bar(report.whole_mb_per_s, best)).cyan().to_string(),
    ]);
    lines(&table) + &sent_again(report)
}

/// How many of the named block go through in a second.
fn blocks(case: &Case, report: &LadderReport) -> String {
    let Some(block) = case.block.filter(|block| !block.is_zero()) else {
        return String::new();
    };
    let a_second = |mb: f64| Packets((mb * 1e6 / block.0 as f64) as u64);
    let wire = report.rungs.iter();
    let wire = wire.filter(|rung| rung.name.starts_with("wire tcp"));
    let wire = wire.map(|rung| format!("{} {}", rung.name, a_second(rung.mb_per_s)));
    let whole = format!("whole path {}", a_second(report.whole_mb_per_s));
    let all: Vec<String> = wire.chain([whole]).collect();
    let mut out = String::new();
    wrap(
        &mut out,
        "  ",
        &format!("Blocks of {block} a second: {}", all.join("; ")),
    );
    out.push('\n');
    out
}

/// What the streams over the link sent again, where they did.
fn sent_again(report: &LadderReport) -> String {
    let mut out = String::new();
    for rung in &report.rungs {
        let Some(again) = rung.sent_again.filter(|again| again.retransmits > 0) else {
            continue;
        };
        let SentAgain {
            segments,
            retransmits,
            needless,
        } = again;
        let percent = retransmits as f64 * 100.0 / segments.max(1) as f64;
        let of_them = match needless {
            0 => String::new(),
            n => format!(", {} of them needlessly", Packets(n)),
        };
        let said = format!(
            "{}: {} of {} segments were sent again ({percent:.2} %){of_them}",
            rung.name,
            Packets(retransmits),
            Packets(segments),
        );
        wrap(&mut out, "  ", &said);
    }
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

fn steps(report: &LadderReport) -> String {
    use Align::{Left, Right};
    let lost: f64 =
        report.steps.iter().map(|s| s.mb_per_s).sum::<f64>() + report.unexplained_mb_per_s;
    let mut out = String::new();
    let rung = |name: &str| report.rungs.iter().find(|rung| rung.name == name);
    // The last step may lead on from the slowest rung to the whole path, which is none.
    let last = report.steps.last();
    let slowest = last.and_then(|step| rung(&step.to).or_else(|| rung(&step.from)));
    if let Some(slowest) = slowest {
        let _ = writeln!(
            out,
            "{} {} MB/s; its slowest part alone, {}: {} MB/s",
            style("The whole path carries").bold(),
            number(report.whole_mb_per_s),
            slowest.name,
            number(slowest.mb_per_s),
        );
    }
    let best = report
        .steps
        .first()
        .map_or("best part", |step| step.from.as_str());
    let _ = writeln!(
        out,
        "{}, from the {best} down to the whole path: {} MB/s",
        style("Lost").bold(),
        number(lost)
    );
    let mut table = Table::new(&[Right, Left, Left]);
    for step in &report.steps {
        let Step {
            from,
            to,
            mb_per_s,
            why,
        } = step;
        table.row([
            format!("−{}", number(*mb_per_s)),
            format!("{from} → {to}"),
            why.clone(),
        ]);
    }
    table.row([
        match report.unexplained_mb_per_s {
            gained if gained < 0.0 => format!("+{}", number(-gained)),
            lost => format!("−{}", number(lost)),
        },
        style("unexplained").yellow().to_string(),
        String::new(),
    ]);
    out.push_str(&lines(&table));
    if !report.bottleneck.is_empty() {
        let _ = writeln!(
            out,
            "{} {}\n",
            style("Bottleneck:").bold(),
            report.bottleneck
        );
    }
    out
}

/// Rungs that could not be measured, each with its reason.
fn missing(run: &LadderRun) -> String {
    let mut out = String::new();
    for rung in &run.rungs {
        if let Some(why) = &rung.unavailable {
            let _ = writeln!(
                out,
                "  {} no rung `{}`: {why}",
                style("note:").yellow(),
                rung.kind.word()
            );
        }
    }
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

fn lines(table: &Table) -> String {
    let mut out = table.lines("  ").join("\n");
    out.push_str("\n\n");
    out
}
