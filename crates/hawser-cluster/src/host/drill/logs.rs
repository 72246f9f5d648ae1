//! The logs of Corosync and Pacemaker on this head: from where a drill began, or their ends. What ZFS says of imports is with
//! the first.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use hawser_model::drill::utc_offset_s;

use super::{LogTexts, clock, imports};
use crate::host::run;

/// Corosync's log, as the cluster file's generation has it.
pub const COROSYNC: &str = "/var/log/corosync/corosync.log";

/// Pacemaker's log, as its packages have it.
pub const PACEMAKER: &str = "/var/log/pacemaker/pacemaker.log";

/// A message of the agent's holds 16 MiB.
const MOST: u64 = 6 << 20;

pub(in crate::host) fn read(from: Option<[u64; 2]>) -> LogTexts {
    let mut logs = LogTexts::default();
    let mut problems = Vec::new();
    for (index, path) in [COROSYNC, PACEMAKER].into_iter().enumerate() {
        match part(path, from.map(|from| from[index])) {
            Ok((length, text, whole)) => {
                logs.lengths[index] = length;
                logs.texts[index] = text;
                if !whole {
                    problems.push(format!("{path}: only the first {MOST} bytes"));
                }
            }
            Err(e) => problems.push(format!("read {path}: {e}")),
        }
    }
    match from {
        None => clock::forget(),
        Some(_) => {
            logs.step = clock::was();
            logs.imports = imports::read();
        }
    }
    logs.utc_offset_s = utc_offset();
    logs.problem = (!problems.is_empty()).then(|| problems.join("; "));
    logs
}

/// The ends of both logs, at most so many bytes of each.
pub(in crate::host) fn ends(bytes: u64) -> LogTexts {
    let mut logs = LogTexts {
        utc_offset_s: utc_offset(),
        ..LogTexts::default()
    };
    let mut problems = Vec::new();
    for (index, path) in [COROSYNC, PACEMAKER].into_iter().enumerate() {
        match end(path, bytes) {
            Ok((length, text)) => (logs.lengths[index], logs.texts[index]) = (length, text),
            Err(e) => problems.push(format!("read {path}: {e}")),
        }
    }
    logs.problem = (!problems.is_empty()).then(|| problems.join("; "));
    logs
}

/// Length, and the whole lines of the last so many bytes.
fn end(path: &str, bytes: u64) -> std::io::Result<(u64, String)> {
    let (length, ..) = part(path, None)?;
    let from = length.saturating_sub(bytes.min(MOST));
    let (length, text, _) = part(path, Some(from))?;
    let whole = match from {
        0 => text,
        // It begins in the middle of a line.
        _ => text
            .split_once('\n')
            .map_or(String::new(), |(_, rest)| rest.to_owned()),
    };
    Ok((length, whole))
}

/// The head's time zone in seconds east of UTC.
pub fn utc_offset() -> i32 {
    let said = run::tool("date", &["+%z"], None).ok();
    said.and_then(|text| utc_offset_s(text.trim())).unwrap_or(0)
}

/// Length, text, and whether that is all of it.
pub(super) fn part(path: &str, from: Option<u64>) -> std::io::Result<(u64, String, bool)> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let Some(from) = from else {
        return Ok((length, String::new(), true));
    };
    // One that is shorter now was rotated, and began anew.
    let from = if from > length { 0 } else { from };
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(MOST).read_to_end(&mut bytes)?;
    let whole = length - from <= MOST;
    Ok((length, String::from_utf8_lossy(&bytes).into_owned(), whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_read_from_where_the_drill_began_and_anew_when_it_was_rotated() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "before\nafter\n").unwrap();
        let path = file.path().to_str().unwrap();
        assert_eq!(part(path, None).unwrap(), (13, String::new(), true));
        assert_eq!(part(path, Some(7)).unwrap(), (13, "after\n".into(), true));
        assert_eq!(part(path, Some(99)).unwrap().1, "before\nafter\n");
    }

    #[test]
    fn the_end_of_a_log_has_whole_lines() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "before\nafter\n").unwrap();
        let path = file.path().to_str().unwrap();
        assert_eq!(end(path, 99).unwrap(), (13, "before\nafter\n".into()));
        assert_eq!(end(path, 8).unwrap(), (13, "after\n".into()));
        assert_eq!(end(path, 0).unwrap(), (13, String::new()));
    }
}
