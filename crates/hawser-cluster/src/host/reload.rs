//! The running Corosync reads its configuration again. `corosync-cfgtool` says only that it refused
//! (`CS_ERR_INVALID_PARAM`); why stands in Corosync's log alone.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::time::Duration;

use hawser_host::Clock;

use super::{NodeError, run};

/// Where the generated `corosync.conf` has it log to.
const LOG: &str = "/var/log/corosync/corosync.log";

/// No refusal has more to say.
const MOST: u64 = 64 * 1024;

/// Corosync's log is written by a thread of its own (libqb), a moment after the answer.
const WRITES: Duration = Duration::from_millis(200);

/// Reads it again; a refusal is told with Corosync's own reason.
pub(super) fn reload() -> Result<(), NodeError> {
    let log = Path::new(LOG);
    let from = log.metadata().map_or(0, |log| log.len());
    match run::tool("corosync-cfgtool", &["-R"], None) {
        Err(NodeError::Tool { command, said }) => {
            Clock::default().sleep(WRITES);
            let said = match reasons(&since(log, from)).as_slice() {
                [] => said,
                reasons => format!("{said}; Corosync's log: {}", reasons.join("; ")),
            };
            Err(NodeError::Tool { command, said })
        }
        other => other.map(drop),
    }
}

/// What was logged since; nothing where it cannot be read.
fn since(log: &Path, from: u64) -> String {
    let mut text = Vec::new();
    let read = File::open(log).and_then(|mut file| {
        file.seek(SeekFrom::Start(from))?;
        file.take(MOST).read_to_end(&mut text)
    });
    match read {
        Ok(_) => String::from_utf8_lossy(&text).into_owned(),
        Err(_) => String::new(),
    }
}

/// The lines in which Corosync complains (`Nov 23 12:00:00 [417] head1 corosync error   [CFG   ] …`), without what
/// stands before them, each once.
fn reasons(log: &str) -> Vec<&str> {
    let complains = |line: &&str| {
        let mut words = line.split_whitespace();
        words.any(|word| matches!(word, "error" | "crit" | "alert" | "emerg" | "warning"))
    };
    let mut reasons: Vec<&str> = Vec::new();
    for line in log.lines().filter(complains) {
        let words = line.rsplit_once("] ").map_or(line, |(_, rest)| rest).trim();
        if !reasons.contains(&words) {
            reasons.push(words);
        }
    }
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corosyncs_reason_is_read_from_what_it_logged_since() {
        let log = "\
Nov 23 12:00:01 [417] head1 corosync notice  [CFG   ] Config reload requested by node 1
Nov 23 12:00:01 [417] head1 corosync error   [CFG   ] New config has different knet transport for link 0. Internal value was NOT changed.
Nov 23 12:00:01 [417] head1 corosync error   [CFG   ] To reconfigure an interface it must be deleted and recreated. A working interface needs to be available to corosync at all times
Nov 23 12:00:01 [417] head1 corosync error   [CFG   ] To reconfigure an interface it must be deleted and recreated. A working interface needs to be available to corosync at all times
";
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), format!("old error [CFG   ] not this\n{log}")).unwrap();
        let new = since(file.path(), 28);
        assert_eq!(new, log);
        assert_eq!(
            reasons(&new),
            [
                "New config has different knet transport for link 0. Internal value was NOT changed.",
                "To reconfigure an interface it must be deleted and recreated. A working interface needs to be available to \
                 corosync at all times"
            ]
        );
        assert_eq!(since(Path::new("/nonexistent"), 0), "");
    }
}
