//! The outage account of a drill: where each second went that the client waited, and whether the
//! scenario's promises held. `docs/outage.md` has the rules.

mod events;
pub(crate) mod imports;
pub(crate) mod log_lines;
pub(crate) mod millis;
pub(crate) mod phase;
mod phases;
mod promises;
pub(crate) mod spans;
pub(crate) mod stall;
pub(crate) mod stamp;
pub(crate) mod start_result;
mod syslog_result;
pub(crate) mod timeline;
pub(crate) mod view;

use std::cmp::Reverse;

use hawser_model::drill::{DrillCase, Moment};
use hawser_model::finding::WordedFinding;
use hawser_model::output::drill::{DrillReport, DrillWrites};

use crate::cause::OutageFind;
use crate::causes::OUTAGE;
use view::DrillView;

/// The code of every cause of a drill, in the order in which they are asked.
pub fn drill_codes() -> impl Iterator<Item = &'static str> {
    OUTAGE.iter().map(|cause| cause.code)
}

/// Everything Hawser says of a drill.
///
/// `case` of the report is empty: where the file lies, its reader knows.
pub fn explain_drill(case: &DrillCase) -> DrillReport {
    let view = DrillView::new(case);
    let promises = promises::judge(&view);
    let findings = found(&view, |_| true);
    let broken: Vec<String> = promises
        .iter()
        .filter(|promise| !promise.held)
        .map(|promise| promise.promise.clone())
        .collect();
    let writes = case.client.writes;
    DrillReport {
        scenario: case.scenario.name.clone(),
        passed: broken.is_empty(),
        broken,
        outage_s: view.outage.seconds(),
        outage_over: view.outage.over,
        held_open_s: view.facts().beside_creator().map(|writers| {
            let waited = stall::meanwhile(case, view.outage, writers);
            let longest = waited.iter().map(stall::Outage::seconds);
            longest.fold(0.0, f64::max)
        }),
        phases: view.phases(),
        unattributed_s: view.account.unattributed_us as f64 / 1e6,
        clock_error_s: timeline::clock_error_us(case) as f64 / 1e6,
        writes: DrillWrites {
            acknowledged: writes.acknowledged,
            lost: writes.lost,
            stale: writes.stale,
            torn: writes.torn,
            gone_with_cache: writes.unflushed_gone,
        },
        two_active: promises::two_active(&case.watch).is_some(),
        fenced: view.fenced.clone(),
        seed: case.seed,
        promises,
        events: events::events(&view),
        findings,
        case: String::new(),
    }
}

/// What is found of an outage, worst first, by the causes that are asked.
pub(crate) fn found(
    view: &DrillView<'_>,
    asked: impl Fn(&OutageFind) -> bool,
) -> Vec<WordedFinding> {
    let causes = OUTAGE.iter().filter(|cause| asked(&cause.find));
    let mut findings: Vec<_> = causes.filter_map(|cause| (cause.find.look)(view)).collect();
    findings.sort_by_key(|f| (Reverse(f.finding.severity), Reverse(f.finding.confidence)));
    findings
}

/// Whether a line of a log is worth keeping in a case: the CIB's own bookkeeping, by far the most
/// of pacemaker.log, marks nothing and may hold what the CIB holds.
pub fn tells(line: &str) -> bool {
    let bookkeeping = [
        "(cib_perform_op)",
        "(cib_process_request)",
        "Diff: ",
        "(log_op_output)",
    ];
    !bookkeeping.iter().any(|name| line.contains(name))
}

/// When a line of corosync.log or pacemaker.log was written, by the clock of the node that wrote it; `recorded`, seconds
/// since 1970 UTC, tells the year. `None`: it has no stamp with milliseconds.
pub fn logged_at(line: &str, recorded: u64, utc_offset_s: i32) -> Option<Moment> {
    Some(stamp::stamped(line, recorded, utc_offset_s)?.0)
}

/// A time as Pacemaker and its agents take it, in seconds: `2`, `2s`, `1500ms`, `1min`.
pub(crate) fn seconds(text: &str) -> Option<f64> {
    let text = text.trim();
    let digits = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let number: f64 = text[..digits].parse().ok()?;
    let unit = match text[digits..].trim() {
        "" | "s" | "sec" => 1.0,
        "ms" | "msec" => 1e-3,
        "m" | "min" => 60.0,
        _ => return None,
    };
    Some(number * unit)
}
