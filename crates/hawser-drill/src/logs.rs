//! The parts of the heads' logs that a drill made.

use std::collections::BTreeMap;

use hawser_account::outage::tells;
use hawser_cluster::host::drill::LogTexts;
use hawser_cluster::host::{DrillAnswer, DrillOrder};
use hawser_model::drill::{Clock, ClockStep, NodeLogs, utc_offset_s};
use hawser_model::names::HostName;

use crate::clocks::{self, ROUND_TRIPS};
use crate::error::DrillError;
use crate::ground::RealHeads;
use crate::stage::{Stage, now};

/// As the cluster file's generation has it.
const COROSYNC: &str = "/var/log/corosync/corosync.log";
/// As Pacemaker's packages have it.
const PACEMAKER: &str = "/var/log/pacemaker/pacemaker.log";

/// Heads whose clocks were stepped.
pub(crate) type Steps = BTreeMap<HostName, ClockStep>;

/// How long each log was when the drill began.
pub(crate) struct Marks(BTreeMap<HostName, [u64; 2]>);

impl Marks {
    /// Looks at the logs of every head.
    pub(crate) fn set(stage: &Stage<'_>) -> Result<Self, DrillError> {
        let mut marks = BTreeMap::new();
        for head in &stage.heads {
            if let Some(real) = stage.real() {
                marks.insert(head.clone(), texts(real, head, None)?.lengths);
                continue;
            }
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
    pub(crate) fn since(&self, stage: &Stage<'_>, steps: &Steps) -> BTreeMap<HostName, NodeLogs> {
        let heads = self.0.iter();
        heads
            .map(|(head, marks)| {
                let mut logs = of_head(stage, head, *marks);
                // What a real head tells of its own clock is better.
                logs.step = logs.step.or(steps.get(head).copied());
                (head.clone(), logs)
            })
            .collect()
    }
}

fn of_head(stage: &Stage<'_>, head: &HostName, marks: [u64; 2]) -> NodeLogs {
    if let Some(real) = stage.real() {
        return of_real_head(real, head, marks);
    }
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
    logs.utc_offset_s = utc_offset_s(read("date +%z").trim()).unwrap_or(0);
    logs.corosync = lines(&read(&format!("tail -c +{} {COROSYNC}", marks[0] + 1)));
    logs.pacemaker = lines(&read(&format!("tail -c +{} {PACEMAKER}", marks[1] + 1)));
    if !problems.is_empty() {
        logs.problem = Some(problems.join("; "));
    }
    logs
}

fn of_real_head(real: &RealHeads<'_>, head: &HostName, marks: [u64; 2]) -> NodeLogs {
    let told = texts(real, head, Some(marks)).and_then(|texts| Ok((texts, clock(real, head)?)));
    match told {
        Ok((texts, clock)) => NodeLogs {
            clock,
            utc_offset_s: texts.utc_offset_s,
            step: texts.step,
            corosync: lines(&texts.texts[0]),
            pacemaker: lines(&texts.texts[1]),
            problem: texts.problem,
        },
        Err(e) => NodeLogs {
            problem: Some(e.to_string()),
            ..NodeLogs::default()
        },
    }
}

fn texts(
    real: &RealHeads<'_>,
    head: &HostName,
    from: Option<[u64; 2]>,
) -> Result<LogTexts, DrillError> {
    match real.ask(head, DrillOrder::Logs { from })? {
        DrillAnswer::Logs(texts) => Ok(*texts),
        _ => Err(DrillError::CouldNot(format!("{head} sent no logs"))),
    }
}

/// How a head's clock stands to this machine's: by the shortest of some round trips.
fn clock(real: &RealHeads<'_>, head: &HostName) -> Result<Clock, DrillError> {
    let mut seen = Vec::new();
    for _ in 0..ROUND_TRIPS {
        let asked = now().0;
        let theirs = real.look(head, false)?.clock_us;
        seen.push(clocks::of_trip(asked, theirs, now().0));
    }
    Ok(clocks::best(seen).unwrap_or_default())
}

fn lines(text: &str) -> Vec<String> {
    let told = text.lines().filter(|line| tells(line));
    told.map(str::to_owned).collect()
}
