//! A line in Pacemaker's log, written now: what its clock shows.

use std::time::Duration;

use hawser_host::Clock;
use serde::{Deserialize, Serialize};

use super::logs::{PACEMAKER, part, utc_offset};
use crate::host::{NodeError, run};

/// What Pacemaker is asked to note so that it writes a line: an attribute that stays out of the CIB.
const ATTRIBUTE: &str = "hawser-drill-clock";

/// From the order to the line.
const WRITES: Duration = Duration::from_millis(100);

/// What Pacemaker wrote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StampedLine {
    /// The line; absent: it wrote none.
    pub line: Option<String>,
    /// The head's time zone in seconds east of UTC.
    pub utc_offset_s: i32,
}

pub(in crate::host) fn stamp() -> Result<StampedLine, NodeError> {
    let read = |from| part(PACEMAKER, from).map_err(NodeError::file("read", PACEMAKER));
    let (from, ..) = read(None)?;
    let set = ["--private", "-n", ATTRIBUTE, "-U", &from.to_string()];
    run::tool("attrd_updater", &set, None)?;
    Clock::default().sleep(WRITES);
    run::tool("attrd_updater", &["-D", "-n", ATTRIBUTE], None)?;
    let (_, text, _) = read(Some(from))?;
    let line = text.lines().rfind(|line| line.contains(ATTRIBUTE));
    Ok(StampedLine {
        line: line.map(str::to_owned),
        utc_offset_s: utc_offset(),
    })
}
