//! Everything that happened, from all nodes, on the drill's own clock.

use hawser_model::drill::{Clock, DrillCase, Moment, NodeLogs};
use hawser_model::names::HostName;

use super::log_lines::{self, Mark};
use super::stamp::stamped;

/// A mark and when it was.
#[derive(Clone, Debug)]
pub(crate) struct At {
    /// By the drill's clock.
    pub(crate) at: Moment,
    /// The node that wrote it.
    pub(crate) host: HostName,
    /// What.
    pub(crate) mark: Mark,
}

/// All marks of all nodes in the order of time.
pub(crate) fn timeline(case: &DrillCase) -> Vec<At> {
    let mut all = Vec::new();
    for (host, logs) in &case.logs {
        let Some(on_drills) = clock_of(case, logs) else {
            continue;
        };
        let mut put = |line: &str, mark: &dyn Fn(&str) -> Option<Mark>| {
            let Some((at, text)) = stamped(line, case.recorded, logs.utc_offset_s) else {
                return;
            };
            if let Some(mark) = mark(text) {
                all.push(At {
                    at: on_drills(at),
                    host: host.clone(),
                    mark,
                });
            }
        };
        for line in &logs.corosync {
            put(line, &log_lines::corosync);
        }
        for line in &logs.pacemaker {
            put(line, &log_lines::pacemaker);
        }
    }
    // What is ordered by one head and ends on another within one second, or millisecond, was ordered first.
    all.sort_by_key(|mark| (mark.at, mark.mark.ends_operation()));
    all
}

/// What makes a stamp of a node one by the drill's clock. `None`: its stamps could be of two moments, and tell nothing.
pub(crate) fn clock_of(case: &DrillCase, logs: &NodeLogs) -> Option<impl Fn(Moment) -> Moment> {
    let begun = Moment(case.recorded.saturating_mul(1_000_000));
    let (clock, step) = (logs.clock, logs.step);
    let tells = step.is_none_or(|step| step.outlasts(begun, ended(case)));
    tells.then_some(move |at| {
        let at = on_drills_clock(at, clock);
        step.map_or(at, |step| step.undone(at, begun))
    })
}

/// A moment of a machine's clock on the drill's.
pub(crate) fn on_drills_clock(at: Moment, clock: Clock) -> Moment {
    at.shifted(clock.offset_us)
}

/// How far off two moments of different machines may be from each other.
pub(crate) fn clock_error_us(case: &DrillCase) -> u64 {
    let nodes = case.logs.values().map(|logs| {
        let step = logs.step.map_or(0, |step| step.error_us);
        logs.clock.error_us.saturating_add(step)
    });
    let nodes = nodes.max();
    nodes
        .unwrap_or(0)
        .saturating_add(case.client.clock.error_us)
}

/// The last moment that the drill itself has written down.
fn ended(case: &DrillCase) -> Moment {
    let faults = case.faults.iter().filter_map(|fault| fault.healed);
    let moments = faults.chain(case.end.as_ref().map(|end| end.at));
    moments.max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use hawser_model::drill::ClockStep;

    use super::*;

    /// The switchover of the cases, and the head whose clock is said to have been stepped.
    fn switchover(step: Option<ClockStep>) -> (DrillCase, HostName) {
        let text = include_str!("../../../../cases/drill/switchover/case.json");
        let mut case: DrillCase = serde_json::from_str(text).unwrap();
        let head = case.logs.keys().next().unwrap().clone();
        case.logs.get_mut(&head).unwrap().step = step;
        (case, head)
    }

    fn per_head(case: &DrillCase) -> BTreeMap<HostName, Vec<Moment>> {
        let mut heads: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for mark in timeline(case) {
            heads.entry(mark.host).or_default().push(mark.at);
        }
        heads
    }

    #[test]
    fn marks_of_a_head_whose_clock_was_stepped_are_where_they_were() {
        let (case, _) = switchover(None);
        let truth = per_head(&case);
        for (by_us, stamp) in [(3_600_000_000, 1), (-3_600_000_000, -1)] {
            let (mut case, head) = switchover(Some(ClockStep { by_us, error_us: 0 }));
            // From the middle on it wrote an hour more, or less.
            let logs = case.logs.get_mut(&head).unwrap();
            let middle = logs.pacemaker.len() / 2;
            for line in &mut logs.pacemaker[middle..] {
                if let Some(hour) = line.get(7..9).and_then(|hour| hour.parse::<i64>().ok()) {
                    line.replace_range(7..9, &format!("{:02}", hour + stamp));
                }
            }
            assert_eq!(per_head(&case), truth);
        }
    }

    #[test]
    fn a_head_whose_stamps_could_be_of_two_moments_marks_nothing() {
        let by_us = 10_000_000;
        let (case, head) = switchover(Some(ClockStep { by_us, error_us: 0 }));
        assert!(!per_head(&case).contains_key(&head));
    }
}
