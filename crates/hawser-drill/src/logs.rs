//! The parts of the heads' logs that a drill made.

use std::collections::BTreeMap;

use hawser_account::outage::tells;
use hawser_model::drill::{Clock, NodeLogs};
use hawser_model::names::HostName;

use crate::error::DrillError;
use crate::stage::Stage;

/// As the cluster file's generation has it.
const COROSYNC: &str = "/var/log/corosync/corosync.log";
/// As Pacemaker's packages have it.
const PACEMAKER: &str = "/var/log/pacemaker/pacemaker.log";

/// How long each log was when the drill began.
pub(crate) struct Marks(BTreeMap<HostName, [u64; 2]>);

impl Marks {
    /// Looks at the logs of every head.
    pub(crate) fn set(stage: &Stage<'_>) -> Result<Self, DrillError> {
        let mut marks = BTreeMap::new();
        for head in &stage.heads {
            let mut lengths = [0; 2];
            for (length, log) in lengths.iter_mut().zip([COROSYNC, PACEMAKER]) {
                let line = format!("stat -c %s {log} 2>/dev/null || echo 0");
                *length = stage
                    .shell(head.as_str(), &line)?
                    .trim()
                    .parse()
                    .unwrap_or(0);
            }
            marks.insert(head.clone(), lengths);
        }
        Ok(Self(marks))
    }

    /// What was written since.
    pub(crate) fn since(&self, stage: &Stage<'_>) -> BTreeMap<HostName, NodeLogs> {
        let heads = self.0.iter();
        heads
            .map(|(head, marks)| (head.clone(), of_head(stage, head, *marks)))
            .collect()
    }
}

fn of_head(stage: &Stage<'_>, head: &HostName, marks: [u64; 2]) -> NodeLogs {
    let mut logs = NodeLogs {
        // All nodes of a lab have the clock of this machine.
        clock: Clock::default(),
        ..NodeLogs::default()
    };
    let mut problems = Vec::new();
    let mut read = |line: &str| match stage.shell(head.as_str(), line) {
        Ok(text) => text,
        Err(e) => {
            problems.push(e.to_string());
            String::new()
        }
    };
    let lines = |text: String| {
        let told = text.lines().filter(|line| tells(line));
        told.map(str::to_owned).collect()
    };
    logs.utc_offset_s = offset(read("date +%z").trim());
    logs.corosync = lines(read(&format!("tail -c +{} {COROSYNC}", marks[0] + 1)));
    logs.pacemaker = lines(read(&format!("tail -c +{} {PACEMAKER}", marks[1] + 1)));
    if !problems.is_empty() {
        logs.problem = Some(problems.join("; "));
    }
    logs
}

/// Seconds of `+0130`.
fn offset(text: &str) -> i32 {
    let number: i32 = text.parse().unwrap_or(0);
    (number / 100 * 60 + number % 100) * 60
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_zone_is_read_in_both_directions() {
        assert_eq!(offset("+0000"), 0);
        assert_eq!(offset("+0530"), 19_800);
        assert_eq!(offset("-0330"), -12_600);
    }
}
