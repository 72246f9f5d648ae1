//! What the fencers did in a drill, as they remember it.

use std::collections::BTreeMap;

use hawser_cluster::fence_history::finished;
use hawser_cluster::host::questions::ReadFenceHistory;
use hawser_model::drill::{Clock, FenceEvent, Moment, NodeLogs};
use hawser_model::names::HostName;

use crate::context::DrillContext;
use crate::error::DrillError;

/// Pacemaker tells whole seconds, and those that have begun.
const SECOND_US: u64 = 1_000_000;

/// What one head told of the fencing.
#[derive(Clone, Debug)]
pub(crate) struct History {
    /// The head.
    head: HostName,
    /// What it told, by the clock of whoever wrote it down.
    events: Vec<FenceEvent>,
}

/// A shot, on the drill's clock.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Shot {
    /// What is known of it.
    pub event: FenceEvent,
    /// How far off its time may be, either way, in microseconds.
    pub error_us: u64,
}

/// What the fencers remember, by any head that answers: they tell each other.
pub(crate) fn read(context: &DrillContext<'_>) -> Result<History, DrillError> {
    let mut failed = None;
    for head in &context.heads {
        match context.hosts.ask(head, &ReadFenceHistory) {
            Ok(history) => {
                let events = finished(&history);
                let events = events.map_err(|e| DrillError::CouldNot(e.to_string()))?;
                let head = head.clone();
                return Ok(History { head, events });
            }
            Err(e) => failed = Some(e.into()),
        }
    }
    Err(failed.unwrap_or_else(|| DrillError::CouldNot("there is no head".to_owned())))
}

/// What they did since they remembered `before`, in order. What was read later may lack what was cleaned up meanwhile. How
/// the heads' clocks stood is in their `logs`.
pub(crate) fn since(
    before: &History,
    later: &[History],
    logs: &BTreeMap<HostName, NodeLogs>,
    begun: Moment,
) -> Vec<Shot> {
    let mut all = before.shots(logs, begun);
    let old = all.len();
    for history in later {
        let mut known = all.clone();
        for shot in history.shots(logs, begun) {
            match known.iter().position(|it| it.is(&shot)) {
                Some(place) => drop(known.remove(place)),
                None => all.push(shot),
            }
        }
    }
    let mut new = all.split_off(old);
    new.sort_by_key(|shot| shot.event.completed);
    new
}

impl History {
    fn shots(&self, logs: &BTreeMap<HostName, NodeLogs>, begun: Moment) -> Vec<Shot> {
        let events = self.events.iter().cloned();
        let shots = events.map(|event| {
            let writer = logs.get(self.writer(&event, logs));
            let (clock, step) =
                writer.map_or((Clock::default(), None), |logs| (logs.clock, logs.step));
            let stamp = event.completed;
            let stamp = step.map_or(stamp, |step| step.undone(stamp, begun));
            Shot {
                event: FenceEvent {
                    completed: stamp.shifted(clock.offset_us),
                    ..event
                },
                error_us: clock.error_us + step.map_or(0, |step| step.error_us),
            }
        });
        shots.collect()
    }

    /// By whose clock a shot is told. Each fencer that hears of one notes its own time; one that was shot itself, and has
    /// come back, has that of another.
    fn writer<'a>(
        &'a self,
        event: &'a FenceEvent,
        logs: &'a BTreeMap<HostName, NodeLogs>,
    ) -> &'a HostName {
        if self.head != event.target {
            return &self.head;
        }
        let others = event.delegate.iter().chain(logs.keys());
        let mut others = others.filter(|head| **head != event.target);
        others.next().unwrap_or(&self.head)
    }
}

impl Shot {
    /// When its head was off at the latest, on the drill's clock.
    pub(crate) fn over(&self) -> Moment {
        let late = self.error_us.saturating_add(SECOND_US);
        Moment(self.event.completed.0.saturating_add(late))
    }

    /// Whether that is the same one, as another head may tell it.
    fn is(&self, other: &Self) -> bool {
        let (own, theirs) = (&self.event, &other.event);
        let apart = own.completed.0.abs_diff(theirs.completed.0);
        // They hear of it one after the other, each in a second of its own.
        let near = apart <= 2 * SECOND_US + self.error_us + other.error_us;
        let alike = |it: &FenceEvent| (it.target.clone(), it.action.clone(), it.succeeded);
        near && alike(own) == alike(theirs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shot(target: &str, second: u64) -> FenceEvent {
        FenceEvent {
            target: target.into(),
            action: "off".into(),
            delegate: Some("head2".into()),
            succeeded: true,
            completed: Moment(second * SECOND_US),
        }
    }

    fn told_by(head: &str, events: Vec<FenceEvent>) -> History {
        let head = head.into();
        History { head, events }
    }

    fn seconds(shots: &[Shot]) -> Vec<u64> {
        let seconds = |shot: &Shot| shot.event.completed.0 / SECOND_US;
        shots.iter().map(seconds).collect()
    }

    /// The clock of the second head is so many seconds off.
    fn logs(offset_s: i64) -> BTreeMap<HostName, NodeLogs> {
        let clock = Clock {
            offset_us: offset_s * SECOND_US as i64,
            error_us: 400,
        };
        let second = NodeLogs {
            clock,
            ..NodeLogs::default()
        };
        BTreeMap::from([
            ("head1".into(), NodeLogs::default()),
            ("head2".into(), second),
        ])
    }

    #[test]
    fn what_was_cleaned_up_meanwhile_is_kept_and_nothing_counts_twice() {
        let before = told_by("head1", vec![shot("head2", 5)]);
        // The same fencer tells two shots of one second.
        let first = vec![shot("head2", 5), shot("head1", 20), shot("head1", 20)];
        // Another one heard of them a second later.
        let last = vec![shot("head1", 21), shot("head2", 30)];
        let later = [told_by("head1", first), told_by("head1", last)];
        let seen = since(&before, &later, &logs(0), Moment(0));
        assert_eq!(seconds(&seen), [20, 20, 30]);
    }

    #[test]
    fn a_shot_is_told_on_the_clock_of_the_drill_whoever_tells_it() {
        for offset in [-30, 30] {
            let logs = logs(offset);
            let theirs = |at: u64| at.saturating_add_signed(-offset);
            let before = told_by("head2", vec![shot("head1", theirs(40))]);
            // head1 was shot, and has the times of head2 again; that knows its own.
            let events = vec![shot("head1", theirs(40)), shot("head1", theirs(100))];
            for head in ["head1", "head2"] {
                let later = [told_by(head, events.clone())];
                let seen = since(&before, &later, &logs, Moment(0));
                assert_eq!(seconds(&seen), [100], "{head}, {offset}");
                assert_eq!(seen[0].over(), Moment(101 * SECOND_US + 400));
            }
        }
    }
}
