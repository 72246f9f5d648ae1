//! The parts of the heads' logs that a drill made.

use std::collections::BTreeMap;

use hawser_account::outage::tells;
use hawser_cluster::host::questions::{LookAround, ReadLogs};
use hawser_model::drill::{Clock, ClockStep, NodeLogs};
use hawser_model::names::HostName;

use crate::clocks;
use crate::context::DrillContext;
use crate::error::DrillError;

/// Heads whose clocks were stepped.
pub(crate) type Steps = BTreeMap<HostName, ClockStep>;

/// How long each log was when the drill began.
pub(crate) struct Marks(BTreeMap<HostName, [u64; 2]>);

impl Marks {
    /// Looks at the logs of every head.
    pub(crate) fn set(context: &DrillContext<'_>) -> Result<Self, DrillError> {
        let mut marks = BTreeMap::new();
        for head in &context.heads {
            let logs = context.hosts.ask(head, &ReadLogs { from: None })?;
            marks.insert(head.clone(), logs.lengths);
        }
        Ok(Self(marks))
    }

    /// What was written since.
    pub(crate) fn since(
        &self,
        context: &DrillContext<'_>,
        steps: &Steps,
    ) -> BTreeMap<HostName, NodeLogs> {
        let heads = self.0.iter();
        heads
            .map(|(head, marks)| {
                let read = of_head(context, head, *marks);
                let mut logs = read.unwrap_or_else(|e| NodeLogs {
                    problem: Some(e.to_string()),
                    ..NodeLogs::default()
                });
                // What a head tells of its own clock is better.
                logs.step = logs.step.or(steps.get(head).copied());
                (head.clone(), logs)
            })
            .collect()
    }
}

fn of_head(
    context: &DrillContext<'_>,
    head: &HostName,
    marks: [u64; 2],
) -> Result<NodeLogs, DrillError> {
    let logs = context.hosts.ask(head, &ReadLogs { from: Some(marks) })?;
    Ok(NodeLogs {
        clock: clock(context, head)?,
        utc_offset_s: logs.utc_offset_s,
        step: logs.step,
        corosync: lines(&logs.texts[0]),
        pacemaker: lines(&logs.texts[1]),
        imports: logs.imports.lines().map(str::to_owned).collect(),
        problem: logs.problem,
    })
}

/// How a head's clock stands to this machine's, unless it is the same.
fn clock(context: &DrillContext<'_>, head: &HostName) -> Result<Clock, DrillError> {
    if context.shares_clock(head) {
        return Ok(Clock::default());
    }
    let look = LookAround { engine: false };
    let clock_us = || Ok(context.hosts.ask(head, &look)?.clock_us);
    Ok(clocks::compare(&context.clock, clock_us)?)
}

fn lines(text: &str) -> Vec<String> {
    let told = text.lines().filter(|line| tells(line));
    told.map(str::to_owned).collect()
}
