//! A drill: what the client could write over time with everything that happened marked on it, the
//! outage account as a bar, the promises, the findings.

use hawser_model::drill::DrillCase;
use hawser_model::output::drill::{DrillReport, OutageEvent};
use hawser_model::units::grouped;

use crate::page::{Page, Section, Source};
use crate::plot::{Axis, Curve, Mark, Plot, plot, short};
use crate::scale::Scale;
use crate::table::{Column, table};
use crate::{findings, outage};

/// Lines of words that have room in the picture before they begin again at the top.
const ROWS: u32 = 10;

/// The page of a drill.
pub fn page(case: &DrillCase, report: &DrillReport, file: &str) -> String {
    let title = format!("Drill {} of {}", report.scenario, case.cluster.name);
    let mut page = Page::new(&title, case.recorded, &case.hawser);
    page.lead(lead(report));
    if !case.scenario.about.is_empty() {
        page.lead(format_args!("The scenario: {}.", case.scenario.about));
    }
    page.section("What the client wrote", |s| throughput(s, case, report));
    page.section("Where the time went", |s| account(s, report));
    page.section("The promises", |s| promises(s, report));
    findings::section(&mut page, &report.findings);
    page.finish(Source::Case(file))
}

fn lead(report: &DrillReport) -> String {
    let passed = match report.passed {
        true => "Passed".to_owned(),
        false => format!("Failed: {}", report.broken.join(", ")),
    };
    let over = match report.outage_over {
        true => "",
        false => ", and it did not end",
    };
    let gone = match report.writes.gone_with_cache {
        0 => String::new(),
        gone => format!(", and {} gone with a head's write cache", grouped(gone)),
    };
    format!(
        "{passed}. The client waited {:.3} s{over}. {} of {} acknowledged writes lost{gone}.",
        report.outage_s,
        grouped(report.writes.lost),
        grouped(report.writes.acknowledged)
    )
}

/// Writes over time around the outage. Zero is its beginning, as everywhere in the report.
fn throughput(s: &mut Section<'_>, case: &DrillCase, report: &DrillReport) {
    let client = &case.client;
    let began = began_s(case, report);
    let slice = client.slice_us as f64 / 1e6;
    if client.slices.is_empty() || slice <= 0.0 {
        return s.paragraph("The client's throughput was not recorded.");
    }
    let beside = (report.outage_s * 0.35).clamp(1.0, 10.0);
    let last_event = report
        .events
        .iter()
        .map(|event| event.at_s)
        .fold(0.0, f64::max);
    let last = began + slice * client.slices.len() as f64;
    let from = began.max(-beside);
    let to = (report
        .outage_s
        .max(last_event.min(report.outage_s + beside))
        + beside)
        .min(last);
    let mut points = Vec::new();
    for (index, writes) in client.slices.iter().enumerate() {
        let start = began + slice * index as f64;
        let (left, right) = (start.max(from), (start + slice).min(to));
        if left < right {
            let rate = f64::from(*writes) / slice;
            points.extend([(left, rate), (right, rate)]);
        }
    }
    let most = points.iter().map(|point| point.1).fold(0.0, f64::max);
    let events: Vec<&OutageEvent> = {
        let events = report.events.iter();
        events
            .filter(|event| event.at_s >= from && event.at_s <= to)
            .collect()
    };
    // A hundredth that is nearly nothing has no sign: the sum takes it away from a zero.
    let hundredths = |at: f64| (at * 100.0).round() / 100.0 + 0.0;
    let marks = events
        .iter()
        .zip((0..ROWS).cycle())
        .map(|(event, row)| Mark {
            x: event.at_s,
            words: format!("{} {:.2} s", event.what, hundredths(event.at_s)),
            row,
        });
    let seconds = |at: f64| format!("{} s", short(at));
    let rates = |rate: f64| match rate {
        0.0 => "0".to_owned(),
        rate => format!("{} writes/s", grouped(rate as u64)),
    };
    let waited = match report.held_open_s {
        Some(_) => "No file was created",
        None => "Nothing was acknowledged to one writer",
    };
    let description = format!(
        "Acknowledged writes a second, in slices of {:.0} ms. {waited} for {:.3} s from 0 on.",
        slice * 1e3,
        report.outage_s
    );
    plot(
        s,
        &Plot {
            title: "Writes over time",
            description: description.clone(),
            x: Axis {
                scale: Scale::between(from, to),
                words: &seconds,
            },
            y: Axis {
                scale: Scale::from_zero(most),
                words: &rates,
            },
            curves: vec![Curve {
                name: String::new(),
                points,
                dots: false,
                filled: true,
            }],
            marks: marks.collect(),
        },
    );
    s.paragraph(description);
    let rows: Vec<Vec<String>> = report
        .events
        .iter()
        .map(|event| {
            vec![
                event.what.clone(),
                format!("{:.3} s", event.at_s),
                event.host.to_string(),
            ]
        })
        .collect();
    use Column::{Number, Text};
    let heads = [Text("what happened"), Number("at"), Text("where")];
    table(
        s,
        "What happened, in seconds from the beginning of the outage",
        &heads,
        &rows,
    );
}

/// When the client's record began, in seconds from the beginning of the outage.
fn began_s(case: &DrillCase, report: &DrillReport) -> f64 {
    let client = &case.client;
    let stalls = client.stalls.iter();
    let stall = stalls.min_by(|a, b| {
        let off = |s: &hawser_model::drill::Stall| (s.to.since(s.from) - report.outage_s).abs();
        off(a).total_cmp(&off(b))
    });
    stall.map_or(0.0, |stall| client.began.since(stall.from))
}

/// Where the client's time went.
fn account(s: &mut Section<'_>, report: &DrillReport) {
    if report.outage_s <= 0.0 {
        return s.paragraph("The client never waited.");
    }
    if let Some(held_open_s) = report.held_open_s {
        s.paragraph(format_args!(
            "It waited to create a file; the writers, which had one open, waited {held_open_s:.3} s."
        ));
    }
    outage::account(s, &report.phases, report.unattributed_s, report.outage_s);
    if report.clock_error_s > 0.0 {
        outage::clock_error(s, report.clock_error_s);
    }
}

fn promises(s: &mut Section<'_>, report: &DrillReport) {
    let fenced = outage::fenced(&report.fenced);
    s.paragraph(format_args!("Fenced: {fenced}. Seed: {}.", report.seed));
    let rows: Vec<Vec<String>> = report
        .promises
        .iter()
        .map(|promise| {
            let held = if promise.held { "held" } else { "BROKEN" };
            vec![
                promise.promise.clone(),
                held.to_owned(),
                promise.text.clone(),
            ]
        })
        .collect();
    use Column::Text;
    table(
        s,
        "Every promise that was judged",
        &[Text("promise"), Text(""), Text("what was seen")],
        &rows,
    );
}
