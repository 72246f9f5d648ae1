//! What is said of a copy: its rate over time, its stages, what slowed it. Pure, as all of this
//! crate.

mod change_point;
pub(crate) mod fell;
mod rate;
mod view;

use std::cmp::Reverse;

use hawser_model::copy::{CopyCase, CopyEnd, CopySink, CopySource, Stage};
use hawser_model::finding::WordedFinding;
use hawser_model::ladder::Storage;
use hawser_model::output::copy::{CopyReport, StageShare};

use crate::causes::COPY;

pub use change_point::change_point;
pub use rate::rate_points;
pub(crate) use view::{View, unsteadiness_after};

/// The code of every cause that a copy's findings can have, in the order in which they are asked.
pub fn copy_codes() -> impl Iterator<Item = &'static str> {
    COPY.iter().map(|cause| cause.code)
}

/// Everything Hawser says of a copy. `case` of the report is empty: where the file lies, its
/// reader knows.
pub fn explain_copy(case: &CopyCase) -> CopyReport {
    let view = View::new(case);
    let mut findings: Vec<WordedFinding> = Vec::new();
    for cause in COPY {
        let found = (cause.find)(&view, !findings.is_empty());
        findings.extend(found);
    }
    findings.sort_by_key(|worded| {
        let f = &worded.finding;
        (Reverse(f.severity), Reverse(f.confidence), f.code.clone())
    });
    let streaming = view.whole.seconds;
    CopyReport {
        from: case.from.clone(),
        to: case.to.clone(),
        link: case.link.clone(),
        source: match &case.source {
            CopySource::Path(path) => path.clone(),
            CopySource::Memory(_) => "memory".to_owned(),
            CopySource::Repeated { storage, .. } => place(storage),
        },
        destination: match &case.sink {
            CopySink::Path { path, .. } => path.clone(),
            CopySink::Discard => "nowhere".to_owned(),
            CopySink::Scratch(storage) => place(storage),
        },
        bytes: case.sender.size.0.max(case.receiver.size.0),
        moved_bytes: case.receiver.moved.0,
        kept_bytes: case.receiver.kept.0,
        hole_bytes: case.receiver.holes.0,
        seconds: case.receiver.elapsed.as_secs_f64(),
        mb_per_s: view.whole.mb_per_s(),
        streams: case.options.streams,
        cipher: case.options.cipher,
        checksum: case.receiver.checksum.clone(),
        source_state: case.sender.source,
        zero_copy: case.sender.zero_copy,
        stages: stages(case, streaming),
        rate: rate_points(&case.receiver.samples),
        change: view.change,
        findings,
        error: error(case),
        part: part(case),
        case: String::new(),
    }
}

fn place(storage: &Storage) -> String {
    let path = storage.path.as_ref();
    path.map_or("memory".to_owned(), |path| path.display().to_string())
}

/// The failure that is not only the echo of the other end's.
fn error(case: &CopyCase) -> Option<String> {
    let told = |host: &hawser_model::names::HostName, end: &CopyEnd| {
        let failure = end.failure.as_ref()?;
        Some((failure.connection, format!("{host}: {}", failure.error)))
    };
    let ends = [
        told(&case.to, &case.receiver),
        told(&case.from, &case.sender),
    ];
    let failed: Vec<(bool, String)> = ends.into_iter().flatten().collect();
    let own = failed.iter().find(|(connection, _)| !connection);
    own.or(failed.first()).map(|(_, words)| words.clone())
}

/// A block at the most, the unit of what can be resumed (`block_size`, hawser-copy): 65 536 of them, or 4 MiB. Each stream
/// has one that is not complete.
fn block(size: u64) -> u64 {
    (size / 65_536 + 1).next_power_of_two().max(4 << 20)
}

/// The part that a failed write left: the receiver removes it unless the copy is checked and a block of it complete.
fn part(case: &CopyCase) -> Option<String> {
    let end = &case.receiver;
    let failure = end.failure.as_ref().filter(|_| case.options.checksum)?;
    let (before, _) = failure.error.rsplit_once(PART)?;
    let (_, path) = before.split_once(' ')?;
    let streams = u64::from(case.options.streams.max(1));
    let complete = !end.kept.is_zero() || end.moved.0 > streams.saturating_mul(block(end.size.0));
    (complete && path.starts_with('/')).then(|| format!("{path}{PART}"))
}

/// How its name ends.
const PART: &str = ".hawser-part";

fn stages(case: &CopyCase, streaming: f64) -> Vec<StageShare> {
    let streams = f64::from(case.options.streams.max(1));
    let all = case.sender.stages.iter().chain(&case.receiver.stages);
    all.map(|time| {
        let busy = time.busy.as_secs_f64();
        // Syncing comes after the streams and is one thread's.
        let of = if time.stage == Stage::Sync {
            case.receiver.elapsed.as_secs_f64()
        } else {
            streaming * streams
        };
        StageShare {
            stage: time.stage,
            busy_s: busy,
            busy_percent: if of > 0.0 { 100.0 * busy / of } else { 0.0 },
            waiting_s: time.waiting.as_secs_f64(),
            mb_per_s: (busy > 0.0 && time.bytes.0 > 0)
                .then(|| time.bytes.0 as f64 / 1e6 / busy * streams),
        }
    })
    .collect()
}
