//! Which of several watches tells people of a trouble that more than one of them sees: the first in the cluster file of those
//! that do. Pure.
//!
//! The others wait a moment for it to see it too, and tell what it does not see. Nothing is kept back for good: a head whose
//! watch does not answer is waited for by nobody.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use hawser_model::output::watch::Alarm;

use crate::changes::Change;
use crate::judge::Key;
use crate::tell::Waiting;

/// A head that is earlier in the file has so long to see a trouble: it is asked each 2 s while something is wrong.
pub const WAITS: Duration = Duration::from_secs(6);

/// What the other watches show at a moment.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Of the heads earlier in the file whose watches answer: the troubles and alarms that they show. Absent: none answers.
    pub earlier: Option<BTreeSet<Key>>,
    /// Troubles of this head that are part of another one's alarm, when all that is shown is put together.
    pub absorbed: BTreeSet<Key>,
}

/// Whose turn it is to tell of what.
#[derive(Clone, Debug, Default)]
pub struct Turns {
    waiting: BTreeMap<Key, (Duration, Alarm)>,
    left_to_others: BTreeSet<Key>,
}

impl Turns {
    /// Goes on from what the watch before this one left to others.
    pub fn resume(&mut self, left: BTreeSet<Key>) {
        self.left_to_others.extend(left);
    }

    /// Those that others tell of.
    pub fn left(&self) -> &BTreeSet<Key> {
        &self.left_to_others
    }

    /// Adds those of which nobody has told yet.
    pub fn untold(&self, waiting: &mut Waiting) {
        for key in self.waiting.keys() {
            *waiting.began.entry(key.clone()).or_default() += 1;
        }
    }

    /// Takes what began and ended here; gives what this watch is to tell now.
    pub fn take(&mut self, now: Duration, changes: Vec<Change>, seen: &Seen) -> Vec<Change> {
        let mut told = Vec::new();
        for change in changes {
            match change {
                Change::Began(alarm) => {
                    self.left_to_others.remove(&alarm.key());
                    self.waiting.insert(alarm.key(), (now, alarm));
                }
                Change::Ended(alarm) => {
                    let waited = self.waiting.remove(&alarm.key());
                    told.extend(waited.map(|(_, alarm)| Change::Began(alarm)));
                    // Who told of its beginning tells of its end, if somebody is there who can.
                    let left = self.left_to_others.remove(&alarm.key());
                    if !left || seen.earlier.is_none() {
                        told.push(Change::Ended(alarm));
                    }
                }
            }
        }
        let Some(earlier) = &seen.earlier else {
            let waiting = std::mem::take(&mut self.waiting).into_values();
            told.extend(waiting.map(|(_, alarm)| Change::Began(alarm)));
            return told;
        };
        self.waiting.retain(|key, (since, alarm)| {
            if earlier.contains(key) || seen.absorbed.contains(key) {
                self.left_to_others.insert(key.clone());
                return false;
            }
            let waits = now.saturating_sub(*since) < WAITS;
            if !waits {
                told.push(Change::Began(alarm.clone()));
            }
            waits
        });
        told
    }
}

#[cfg(test)]
mod tests {
    use hawser_model::finding::{Place, Severity};

    use super::*;

    fn alarm(code: &str) -> Alarm {
        Alarm {
            code: code.to_owned(),
            severity: Severity::Warning,
            place: Place::default(),
            parts: Vec::new(),
            since: Some(1),
            times: 1,
            text: String::new(),
            fix: None,
        }
    }

    fn seen(earlier: &[&str]) -> Seen {
        Seen {
            earlier: Some(earlier.iter().map(|code| alarm(code).key()).collect()),
            absorbed: BTreeSet::new(),
        }
    }

    fn at(second: u64) -> Duration {
        Duration::from_secs(second)
    }

    #[test]
    fn the_first_head_and_one_that_is_alone_tell_at_once() {
        let mut turns = Turns::default();
        let (began, ended) = (Change::Began(alarm("a")), Change::Ended(alarm("a")));
        let alone = Seen::default();
        assert_eq!(turns.take(at(0), vec![began.clone()], &alone), vec![began]);
        assert_eq!(turns.take(at(9), vec![ended.clone()], &alone), vec![ended]);
    }

    #[test]
    fn what_an_earlier_head_sees_too_it_tells_with_its_end() {
        let mut turns = Turns::default();
        let (began, ended) = (Change::Began(alarm("a")), Change::Ended(alarm("a")));
        assert_eq!(turns.take(at(0), vec![began.clone()], &seen(&[])), []);
        assert_eq!(turns.take(at(2), vec![], &seen(&["a"])), []);
        assert_eq!(turns.take(at(60), vec![ended.clone()], &seen(&[])), []);
        // Had that head died meanwhile, nobody else would tell of the end.
        turns.take(at(70), vec![began], &seen(&["a"]));
        assert_eq!(
            turns.take(at(80), vec![ended.clone()], &Seen::default()),
            vec![ended]
        );
    }

    #[test]
    fn what_the_earlier_head_does_not_see_is_told_a_moment_later() {
        let mut turns = Turns::default();
        let (began, ended) = (Change::Began(alarm("a")), Change::Ended(alarm("a")));
        assert_eq!(turns.take(at(0), vec![began.clone()], &seen(&["b"])), []);
        assert_eq!(turns.take(at(5), vec![], &seen(&["b"])), []);
        assert_eq!(
            turns.take(at(6), vec![], &seen(&["b"])),
            vec![began.clone()]
        );
        assert_eq!(
            turns.take(at(9), vec![ended.clone()], &seen(&[])),
            vec![ended.clone()]
        );
        // One that was over before is told as a whole; and an earlier head that is lost is not waited for.
        turns.take(at(20), vec![began.clone()], &seen(&[]));
        assert_eq!(
            turns.take(at(22), vec![ended.clone()], &seen(&[])),
            vec![began.clone(), ended]
        );
        turns.take(at(30), vec![began.clone()], &seen(&[]));
        assert_eq!(turns.take(at(31), vec![], &Seen::default()), vec![began]);
    }

    #[test]
    fn a_watch_that_starts_again_knows_what_it_left_to_others() {
        let mut before = Turns::default();
        let (began, ended) = (Change::Began(alarm("a")), Change::Ended(alarm("a")));
        before.take(at(0), vec![began], &seen(&[]));
        let mut untold = Waiting::default();
        before.untold(&mut untold);
        assert!(untold.began.contains_key(&alarm("a").key()));
        before.take(at(2), vec![], &seen(&["a"]));
        let mut turns = Turns::default();
        turns.resume(before.left().clone());
        assert_eq!(turns.take(at(9), vec![ended.clone()], &seen(&[])), []);
        turns.resume(before.left().clone());
        let alone = Seen::default();
        assert_eq!(turns.take(at(9), vec![ended.clone()], &alone), vec![ended]);
    }

    #[test]
    fn a_part_of_another_heads_alarm_is_not_told_by_itself() {
        let mut turns = Turns::default();
        let absorbed = Seen {
            absorbed: [alarm("a").key()].into(),
            ..seen(&["b"])
        };
        assert_eq!(
            turns.take(at(0), vec![Change::Began(alarm("a"))], &absorbed),
            []
        );
        assert_eq!(
            turns.take(at(10), vec![Change::Ended(alarm("a"))], &absorbed),
            []
        );
    }
}
