//! A copy: its rate over time with the place where it changed, its stages, the findings.

use hawser_model::copy::CopyCase;
use hawser_model::output::copy::{CopyReport, RatePoint};
use hawser_model::units::{Bytes, mb_per_s};

use crate::bars::{Bar, bars};
use crate::findings;
use crate::page::{Page, Section, Source};
use crate::plot::{Axis, Curve, Mark, Plot, plot, short};
use crate::scale::Scale;
use crate::table::{Column, table};
use crate::topology::{Drawing, draw};

/// More points than this cannot be told apart on a page.
const POINTS: usize = 300;

/// The page of a copy.
pub fn page(case: &CopyCase, report: &CopyReport, file: &str) -> String {
    let title = format!("Copy from {} to {}", report.from, report.to);
    let mut page = Page::new(&title, case.recorded, &case.hawser);
    page.lead(format_args!("{}.", report.speed()));
    if let Some(error) = &report.error {
        page.lead(format_args!("It failed: {error}."));
    }
    path(&mut page, report);
    page.section("Rate over time", |s| rate(s, report));
    stages(&mut page, report);
    findings::section(&mut page, &report.findings);
    page.finish(Source::Case(file))
}

fn path(page: &mut Page, report: &CopyReport) {
    page.section("The path", |s| {
        let note = format!("→ {}", mb_per_s(report.mb_per_s));
        let (from, to, link) = (
            report.from.as_str(),
            report.to.as_str(),
            report.link.as_str(),
        );
        draw(s, &Drawing::path(from, to, link, note));
        s.paragraph(format_args!(
            "{} on {} to {} on {}, {} bytes{}.",
            report.source,
            report.from,
            report.destination,
            report.to,
            report.bytes,
            match report.streams {
                1 => String::new(),
                n => format!(", {n} streams"),
            }
        ));
        if let Some(proven) = report.proven() {
            s.remark(format_args!("Proven: {proven}"));
        }
    });
}

fn rate(s: &mut Section<'_>, report: &CopyReport) {
    let points = thinned(&report.rate);
    let (Some(end), true) = (points.last().map(|p| p.at_s), points.len() >= 2) else {
        return s.paragraph("It was over too soon for its rate to be followed.");
    };
    let most = points.iter().map(|p| p.mb_per_s).fold(0.0, f64::max);
    // A rate holds for its interval: steps, not slopes.
    let mut steps = Vec::with_capacity(points.len() * 2);
    let mut from = 0.0;
    for point in &points {
        steps.extend([(from, point.mb_per_s), (point.at_s, point.mb_per_s)]);
        from = point.at_s;
    }
    let changed = report.change.as_ref().map(|change| {
        format!(
            "{} → {}",
            mb_per_s(change.before_mb_per_s),
            mb_per_s(change.after_mb_per_s)
        )
    });
    let description = match (&report.change, &changed) {
        (Some(change), Some(rates)) => format!(
            "After {:.2} s, at {}, the rate changed and stayed changed: {rates}.",
            change.at_s,
            Bytes(change.at_bytes)
        ),
        _ => format!(
            "No lasting change in {end:.2} s; at most {}.",
            mb_per_s(most)
        ),
    };
    let seconds = |at: f64| format!("{} s", short(at));
    // Nothing is nothing in any unit; a prefix of its own among megabytes would only be noise.
    let rates = |rate: f64| match rate {
        0.0 => "0".to_owned(),
        rate => mb_per_s(rate),
    };
    plot(
        s,
        &Plot {
            title: "Rate over time",
            description: description.clone(),
            x: Axis {
                scale: Scale::between(0.0, end),
                words: &seconds,
            },
            y: Axis {
                scale: Scale::from_zero(most),
                words: &rates,
            },
            curves: vec![Curve {
                name: String::new(),
                points: steps,
                dots: false,
                filled: true,
            }],
            marks: (report.change.iter().zip(changed))
                .map(|(change, words)| Mark {
                    x: change.at_s,
                    words,
                    row: 0,
                })
                .collect(),
        },
    );
    s.paragraph(description);
    let every = points.len().div_ceil(10);
    let rows: Vec<Vec<String>> = points
        .chunks(every)
        .filter_map(|chunk| chunk.last())
        .map(|p| {
            vec![
                format!("{:.2} s", p.at_s),
                Bytes(p.bytes).to_string(),
                mb_per_s(p.mb_per_s),
            ]
        })
        .collect();
    use Column::Number;
    let heads = [Number("at"), Number("bytes until then"), Number("rate")];
    table(s, "The rate at moments of the copy", &heads, &rows);
}

/// Neighbours joined until there are few enough; each keeps the bytes that moved.
fn thinned(points: &[RatePoint]) -> Vec<RatePoint> {
    let together = points.len().div_ceil(POINTS).max(1);
    let mut at = (0.0, 0);
    points
        .chunks(together)
        .filter_map(|chunk| {
            let last = *chunk.last()?;
            let (time, moved) = (last.at_s - at.0, last.bytes.saturating_sub(at.1));
            at = (last.at_s, last.bytes);
            let mb_per_s = match together {
                1 => last.mb_per_s,
                _ if time > 0.0 => moved as f64 / 1e6 / time,
                _ => return None,
            };
            Some(RatePoint { mb_per_s, ..last })
        })
        .collect()
}

fn stages(page: &mut Page, report: &CopyReport) {
    let rows: Vec<Bar> = report
        .stages
        .iter()
        .map(|stage| Bar {
            label: stage.stage.word().to_owned(),
            note: match (stage.mb_per_s, stage.waiting_s) {
                (Some(alone), waiting) if waiting > 0.0 => {
                    format!("alone {}, waited {waiting:.2} s", mb_per_s(alone))
                }
                (Some(alone), _) => format!("alone {}", mb_per_s(alone)),
                (None, _) => String::new(),
            },
            value: format!("{:.0} %", stage.busy_percent),
            to: stage.busy_percent / 100.0,
            class: if stage.busy_percent >= 90.0 {
                "bad"
            } else {
                "good"
            },
            ..Bar::default()
        })
        .collect();
    page.section("What each stage did", |s| {
        bars(
            s,
            "Share of the time that a stage worked",
            ["stage", "busy"],
            &rows,
        );
    });
}
