//! A case as one self-contained page with pictures: no network, no script, nothing else needed to
//! read it. Pure: the same case gives the same page everywhere. The page of a watch is the one that is served and goes on:
//! it has a script and a style sheet from the server it came from.
//!
//! Every picture has a title, a description, and its numbers in a table beside it. Widths are
//! shares of the page's, so that a page reads at 400 pixels as at 1 280; light, dark and printed
//! pages differ in the style sheet alone.
#![forbid(unsafe_code)]

mod bars;
mod cipher;
mod copy;
mod drill;
mod fanout;
mod findings;
mod incident;
mod ladder;
mod live;
mod markup;
mod measured;
mod outage;
mod packets;
mod page;
pub use page::Source;
mod plot;
mod scale;
mod table;
mod topology;
mod trials;
mod undo;

use hawser_model::case::Case;
use hawser_model::copy::CopyCase;
use hawser_model::drill::DrillCase;
use hawser_model::output::incident::{IncidentReport, IncidentsReport};

pub use cipher::CipherLine;
pub use live::{
    CAUSE_PATH, EVENTS_PATH, ICON_PATH, LIVE_ICON, LIVE_POLICY, LIVE_SCRIPT, LIVE_STYLE, LiveParts,
    SCRIPT_PATH, STYLE_PATH, live_cause, live_page, live_parts,
};
use page::Page;

/// The page of a check, a tune, a ladder or a fan-out, whose case is in a file of this name.
pub fn page(case: &Case, file: &str) -> String {
    if let (Some(run), Some(report)) = (&case.fanout, hawser_account::fanout::report(case)) {
        return fanout::page(case, run, &report, file);
    }
    match (&case.ladder, hawser_account::ladder(case)) {
        (Some(run), Some(report)) => ladder::page(case, run, &report, file),
        _ => check(case, file),
    }
}

/// The page of a copy, likewise.
pub fn copy_page(case: &CopyCase, file: &str) -> String {
    copy::page(case, &hawser_account::copy::explain_copy(case), file)
}

/// The page of a drill, likewise.
pub fn drill_page(case: &DrillCase, file: &str) -> String {
    drill::page(case, &hawser_account::outage::explain_drill(case), file)
}

/// The page of one incident of the report; `source` is what derives it again, and `by` the version of Hawser that makes it.
pub fn incident_page(
    report: &IncidentsReport,
    incident: &IncidentReport,
    source: Source<'_>,
    by: &str,
) -> String {
    incident::page(report, incident, source, by)
}

/// The page of a `bench cipher`, whose lines a file of this name has; `by` is the version of Hawser that makes it.
pub fn cipher_page(lines: &[CipherLine], file: &str, by: &str) -> String {
    cipher::page(lines, file, by)
}

fn check(case: &Case, file: &str) -> String {
    let report = hawser_account::explain(case);
    let tuned = hawser_account::trial::tune_report(case);
    let verb = match tuned {
        Some(_) => "Tune",
        None => "Check",
    };
    let title = format!("{verb} of {}", case.topology.cluster);
    let mut page = Page::new(&title, case.recorded, &case.hawser);
    packets::summary(&mut page, case, &report, tuned.as_ref());
    packets::topology(&mut page, case, &report.packets);
    packets::account(&mut page, &report.packets.total);
    packets::directions(&mut page, case, &report.packets);
    findings::section(&mut page, &report.findings);
    if let (Some(tuned), Some(tuning)) = (&tuned, &case.tuning) {
        trials::section(&mut page, &tuning.trials, tuned);
        undo::section(&mut page, &case.topology, tuning);
    }
    measured::section(&mut page, case);
    page.finish(Source::Case(file))
}
