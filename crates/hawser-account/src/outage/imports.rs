//! The parts of an import of a ZFS pool, by what ZFS itself says of it.
//!
//! OpenZFS stamps its messages with whole seconds (`gethrestime_sec` in `__zfs_dbgmsg`), so each part is right to one.

use hawser_model::drill::{DrillCase, Moment};
use hawser_model::names::HostName;
use serde::Serialize;

use super::timeline::clock_of;

/// Seconds of the start of a pool. Together they are its length, rounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct ImportParts {
    /// Until ZFS was asked for the pool: the agent starts, and `zpool` looks through disks.
    #[serde(rename = "before_import_s")]
    pub(crate) before: u64,
    /// ZFS watched the pool for another host's activity (`multihost`).
    #[serde(rename = "watched_s")]
    pub(crate) watched: u64,
    /// ZFS read and checked the pool, and claimed what its log holds.
    #[serde(rename = "loading_s")]
    pub(crate) loading: u64,
    /// From then on: keys are loaded, volumes appear, file systems are mounted, and the agent looks at the pool.
    #[serde(rename = "after_import_s")]
    pub(crate) after: u64,
}

/// What ZFS says where it begins to watch a pool: before it trusts its configuration (`spa_activity_check_duration`), and since
/// 2.3.6 also when it claims the pool.
const BEGINS_TO_WATCH: [&str; 2] = ["import_delay=", "Establishing MMP claim"];

/// What it says while it watches, once a second.
const WATCHES: [&str; 5] = [
    "Checking MMP activity",
    "best uberblock found",
    "label discarded",
    "failed to read label config",
    "mmp: claiming uberblock",
];

/// A message: its moment by the drill's clock, its thread, and what it says.
struct Said<'a> {
    at: Moment,
    thread: &'a str,
    text: &'a str,
}

/// The import of this pool on a host between two moments, where its messages are whole and it was tried once.
pub(crate) fn parts(
    case: &DrillCase,
    host: &HostName,
    pool: &str,
    (from, to): (Moment, Moment),
) -> Option<ImportParts> {
    let logs = case.logs.get(host)?;
    let clock = clock_of(case, logs)?;
    let all = logs.imports.iter().filter_map(|line| said(line, &clock));
    // A stamp may be a second older than what it stamps.
    let inside = |said: &Said<'_>| said.at.since(from) > -1.0 && said.at <= to;
    let mut own: Vec<Said<'_>> = all.filter(inside).collect();
    let is_begun = |said: &Said<'_>| names(said.text, BEGINS, pool);
    let thread = own.iter().find(|said| is_begun(said))?.thread;
    own.retain(|said| said.thread == thread);
    // `zpool import` first reads the pool's configuration. What was tried twice waited for something else, too.
    let how_often = |what: &str| own.iter().filter(|said| said.text.contains(what)).count();
    if how_often(TRIES) != 1 || how_often(BEGINS) != 1 || !names(own.first()?.text, TRIES, pool) {
        return None;
    }
    let begun = own.iter().position(is_begun)?;
    let is_loaded = |said: &Said<'_>| said.text.ends_with(", config trusted): LOADED");
    let last = begun + own[begun..].iter().position(is_loaded)?;

    // Rounded here, so that the parts add up.
    let second = |said: &Said<'_>| said.at.max(from).since(from).round() as u64;
    let between =
        |earlier: &Said<'_>, later: &Said<'_>| second(later).saturating_sub(second(earlier));
    let mut watched = 0;
    let mut watching: Option<&Said<'_>> = None;
    for said in &own[..=last] {
        let says = |what: &&str| said.text.contains(*what);
        if BEGINS_TO_WATCH.iter().any(says) {
            watching = watching.or(Some(said));
        } else if !WATCHES.iter().any(says) {
            watched += watching.take().map_or(0, |since| between(since, said));
        }
    }
    let whole = to.since(from).round() as u64;
    Some(ImportParts {
        before: second(&own[0]),
        watched,
        loading: between(&own[0], &own[last]).saturating_sub(watched),
        after: whole.saturating_sub(second(&own[last])),
    })
}

/// It reads a pool's configuration from its disks.
const TRIES: &str = "spa_tryimport: importing ";

/// It imports a pool.
const BEGINS: &str = "spa_import: importing ";

/// Whether it says this of that pool, and of no other whose name begins so.
fn names(text: &str, what: &str, pool: &str) -> bool {
    text.rsplit_once(what).is_some_and(|(_, rest)| rest == pool)
}

/// `1795956157   0000000076abd100 spa.c:6774:spa_import(): spa_import: importing vmpool02`
fn said<'a>(line: &'a str, clock: impl Fn(Moment) -> Moment) -> Option<Said<'a>> {
    let (stamp, rest) = line.split_once(' ')?;
    let (thread, text) = rest.trim_start().split_once(' ')?;
    let at = stamp.parse::<u64>().ok()?.checked_mul(1_000_000)?;
    Some(Said {
        at: clock(Moment(at)),
        thread,
        text,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// OpenZFS 2.3.2 with `multihost`, shortened.
    const SAID: [&str; 12] = [
        "1795956130   00000000bbbb0000 spa.c:6774:spa_import(): spa_import: importing vmpool02",
        "1795956130   00000000bbbb0000 spa_misc.c:430:spa_load_note(): spa_load(vmpool02, config trusted): LOADED",
        "1795956157   0000000076abd100 spa.c:6929:spa_tryimport(): spa_tryimport: importing vmpool02",
        "1795956158   0000000076abd100 spa.c:3608:spa_activity_check_duration(): fail_intvals>0 import_delay=20000000000 ub_mmp mmp_fails=10",
        "1795956158   0000000076abd100 spa_misc.c:2377:spa_import_progress_set_notes_impl(): 'vmpool02' Checking MMP activity, waiting 22820 ms",
        "1795956159   0000000076abd100 vdev.c:184:vdev_dbgmsg(): disk vdev '/dev/sda': best uberblock found for spa $import. txg 83",
        "1795956180   0000000076abd100 vdev.c:184:vdev_dbgmsg(): disk vdev '/dev/sda': best uberblock found for spa $import. txg 83",
        "1795956181   0000000076abd100 spa_misc.c:2377:spa_import_progress_set_notes_impl(): 'vmpool02' Loading checkpoint txg",
        "1795956181   0000000076abd100 spa_misc.c:430:spa_load_note(): spa_load($import, config trusted): LOADED",
        "1795956182   0000000076abd100 spa.c:6774:spa_import(): spa_import: importing vmpool02",
        "1795956183   0000000076abd100 spa_misc.c:430:spa_load_note(): spa_load(vmpool02, config trusted): LOADED",
        "1795956300   00000000cccc0000 spa.c:6774:spa_import(): spa_import: importing vmpool02",
    ];

    fn case() -> (DrillCase, HostName) {
        let text = include_str!("../../../../cases/drill/switchover/case.json");
        let mut case: DrillCase = serde_json::from_str(text).unwrap();
        let head = case.logs.keys().next().unwrap().clone();
        let logs = case.logs.get_mut(&head).unwrap();
        logs.imports = SAID.map(str::to_owned).to_vec();
        (case, head)
    }

    fn at(seconds: f64) -> Moment {
        Moment((seconds * 1e6) as u64)
    }

    #[test]
    fn the_parts_of_an_import_add_up_to_it() {
        let (case, head) = case();
        let span = (at(1_795_956_155.6), at(1_795_956_188.2));
        let found = parts(&case, &head, "vmpool02", span).unwrap();
        let expected = ImportParts {
            before: 1,
            watched: 23,
            loading: 3,
            after: 6,
        };
        assert_eq!(found, expected);
        assert_eq!(parts(&case, &head, "vmpool0", span), None, "another pool");
        assert_eq!(
            parts(&case, &head, "vmpool02", (at(1.0), at(2.0))),
            None,
            "another time"
        );
        let cut = (span.0, at(1_795_956_170.0));
        assert_eq!(parts(&case, &head, "vmpool02", cut), None, "it never ended");
        let late = (at(1_795_956_160.0), span.1);
        assert_eq!(
            parts(&case, &head, "vmpool02", late),
            None,
            "its beginning is missing"
        );
    }

    #[test]
    fn an_import_that_was_tried_twice_has_no_parts() {
        let (mut case, head) = case();
        let lines = &mut case.logs.get_mut(&head).unwrap().imports;
        let again = lines[2].replace("1795956157", "1795956156");
        lines.insert(2, again);
        let span = (at(1_795_956_155.6), at(1_795_956_188.2));
        assert_eq!(parts(&case, &head, "vmpool02", span), None);
    }

    /// As OpenZFS 2.3.6 and later do it, by their sources.
    #[test]
    fn a_claim_is_watching_too() {
        let (mut case, head) = case();
        let lines = &mut case.logs.get_mut(&head).unwrap().imports;
        let said = |seconds: u64, text: &str| format!("{seconds}   0000000076abd100 {text}");
        let claim = [
            said(
                1_795_956_182,
                "spa_misc.c:2444:spa_import_progress_set_notes_impl(): 'vmpool02' Establishing MMP claim, waiting 9000 ms",
            ),
            said(
                1_795_956_187,
                "mmp.c:700:mmp_claim_uberblock(): mmp: claiming uberblock, spa=vmpool02",
            ),
            said(
                1_795_956_191,
                "spa_misc.c:2444:spa_import_progress_set_notes_impl(): 'vmpool02' Loading checkpoint txg",
            ),
            said(
                1_795_956_192,
                "spa_misc.c:430:spa_load_note(): spa_load(vmpool02, config trusted): LOADED",
            ),
        ];
        lines.splice(10..11, claim);
        let found = parts(
            &case,
            &head,
            "vmpool02",
            (at(1_795_956_155.6), at(1_795_956_193.2)),
        );
        assert_eq!(found.unwrap().watched, 23 + 9);
    }

    #[test]
    fn a_clock_that_differs_is_the_drill_s_again() {
        let (mut case, head) = case();
        let span = (at(1_795_956_155.6), at(1_795_956_188.2));
        let right = parts(&case, &head, "vmpool02", span);
        case.logs.get_mut(&head).unwrap().clock.offset_us = 7_000_000;
        let later = (span.0.shifted(7_000_000), span.1.shifted(7_000_000));
        assert_eq!(parts(&case, &head, "vmpool02", later), right);
        assert_ne!(parts(&case, &head, "vmpool02", span), right);
    }
}
