//! The throughput account: a bar a rung, the way down to the whole path, the findings.

use hawser_model::case::Case;
use hawser_model::ladder::LadderRun;
use hawser_model::output::{LadderReport, RungReport};
use hawser_model::units::mb_per_s;

use crate::bars::{Bar, bars};
use crate::findings;
use crate::page::{Page, Source};
use crate::topology::{Drawing, draw};

/// The page of a ladder.
pub fn page(case: &Case, run: &LadderRun, report: &LadderReport, file: &str) -> String {
    let title = format!("Ladder of {}", case.topology.cluster);
    let mut page = Page::new(&title, case.recorded, &case.hawser);
    page.lead(lead(report));
    path(&mut page, run, report);
    rungs(&mut page, run, report);
    way_down(&mut page, report);
    findings::section(&mut page, &report.findings);
    page.finish(Source::Case(file))
}

fn lead(report: &LadderReport) -> String {
    let whole = mb_per_s(report.whole_mb_per_s);
    match report.bottleneck.as_str() {
        "" => format!("The whole path carries {whole}."),
        part => format!("The whole path carries {whole}; the part that was busy longest: {part}."),
    }
}

fn path(page: &mut Page, run: &LadderRun, report: &LadderReport) {
    let end = |path: &Option<std::path::PathBuf>| {
        path.as_ref()
            .map_or("memory".to_owned(), |p| p.display().to_string())
    };
    let cipher = run.cipher.map_or("not encrypted".to_owned(), |c| c.name());
    page.section("The path", |s| {
        let note = format!("→ {}", mb_per_s(report.whole_mb_per_s));
        let (from, to, link) = (run.from.as_str(), run.to.as_str(), run.link.as_str());
        draw(s, &Drawing::path(from, to, link, note));
        s.paragraph(format_args!(
            "From {} on {} to {} on {}, {cipher}.",
            end(&run.source.path),
            run.from,
            end(&run.sink.path),
            run.to
        ));
    });
}

fn best(report: &LadderReport) -> f64 {
    let rates = report.rungs.iter().map(|r| r.mb_per_s);
    rates.fold(report.whole_mb_per_s, f64::max)
}

fn rungs(page: &mut Page, run: &LadderRun, report: &LadderReport) {
    let best = best(report).max(f64::MIN_POSITIVE);
    let mut rows: Vec<Bar> = report
        .rungs
        .iter()
        .map(|rung| Bar {
            label: rung.name.clone(),
            note: match rung.measurable() {
                true => format!("± {:.0} %", rung.spread * 100.0),
                false => "not measurable".to_owned(),
            },
            value: mb_per_s(rung.mb_per_s),
            to: rung.mb_per_s / best,
            spread: rung.spread.min(RungReport::MEASURABLE) * rung.mb_per_s / best,
            class: "good",
            ..Bar::default()
        })
        .collect();
    rows.push(Bar {
        label: "whole path".to_owned(),
        value: mb_per_s(report.whole_mb_per_s),
        to: report.whole_mb_per_s / best,
        class: "bad",
        ..Bar::default()
    });
    page.section("What each part can do by itself", |s| {
        let caption =
            "Rates, fastest first; the thin line is the spread, half the distance of the quartiles";
        bars(s, caption, ["rung", "rate"], &rows);
        for rung in &run.rungs {
            if let Some(why) = &rung.unavailable {
                s.remark(format_args!("Not measured: {}: {why}", rung.kind.word()));
            }
        }
    });
}

/// Each step takes its part off what is left, down to the whole path.
fn way_down(page: &mut Page, report: &LadderReport) {
    let unexplained = report.unexplained_mb_per_s;
    let gap = report.steps.iter().map(|s| s.mb_per_s).sum::<f64>() + unexplained;
    let top = (report.whole_mb_per_s + gap).max(f64::MIN_POSITIVE);
    let mut left = top;
    let mut rows: Vec<Bar> = Vec::new();
    for step in &report.steps {
        let to = left;
        left -= step.mb_per_s;
        rows.push(Bar {
            label: format!("{} → {}", step.from, step.to),
            note: step.why.clone(),
            value: format!("−{}", mb_per_s(step.mb_per_s)),
            from: left / top,
            to: to / top,
            class: "bad",
            ..Bar::default()
        });
    }
    let (low, high) = match unexplained < 0.0 {
        true => (left, left - unexplained),
        false => (left - unexplained, left),
    };
    rows.push(Bar {
        label: "unexplained".to_owned(),
        value: match unexplained {
            // Less than a kilobyte is written as nothing, and nothing has no sign.
            none if none.abs() < 0.0005 => "0".to_owned(),
            gained if gained < 0.0 => format!("+{}", mb_per_s(-gained)),
            lost => format!("−{}", mb_per_s(lost)),
        },
        from: low / top,
        to: high / top,
        class: "unknown",
        ..Bar::default()
    });
    rows.push(Bar {
        label: "whole path".to_owned(),
        value: mb_per_s(report.whole_mb_per_s),
        to: report.whole_mb_per_s / top,
        class: "good",
        ..Bar::default()
    });
    page.section("Where the rate is lost", |s| {
        let caption = "From the best rung of the path down to the whole path";
        bars(s, caption, ["step", "rate"], &rows);
    });
}
