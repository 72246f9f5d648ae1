//! Which of several watches tells people of a trouble that more than one of them sees: the first in the cluster file of those
//! that do. Pure.
//!
//! The others wait a moment for it to see it too, and tell what it does not see, or not as bad as it is. Nothing is kept back for good: a head whose
//! watch does not answer, or tells nobody, is waited for by nobody, and what was left to it comes back when that is so, or when
//! it sees it no longer.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use hawser_model::output::watch::Alarm;

use crate::changes::Change;
use crate::judge::Key;
use crate::tell::Waiting;
use crate::worse::is_worse;

/// A head that is earlier in the file has so long to see a trouble: it is asked each 2 s while something is wrong.
pub const WAITS: Duration = Duration::from_secs(6);

/// What the other watches show at a moment.
#[derive(Clone, Debug, Default)]
pub struct OtherWatches {
    /// Of the heads earlier in the file whose watches answer, and tell: the troubles and alarms that they show, each as bad as
    /// one of them has it. Absent: there are none.
    pub earlier: Option<BTreeMap<Key, Alarm>>,
    /// Troubles of this head that are part of an alarm of theirs.
    pub absorbed: BTreeSet<Key>,
    /// What this head shows.
    pub mine: Vec<Alarm>,
}

impl OtherWatches {
    /// Whether an earlier head tells of this, by itself or within another alarm.
    fn has(&self, key: &Key) -> bool {
        let earlier = self.earlier.as_ref();
        earlier.is_some_and(|earlier| earlier.contains_key(key) || self.absorbed.contains(key))
    }

    /// Whether it tells all of it.
    fn has_all(&self, alarm: &Alarm) -> bool {
        let key = alarm.key();
        let theirs = self.earlier.as_ref().and_then(|all| all.get(&key));
        self.has(&key) && theirs.is_none_or(|theirs| !is_worse(alarm, theirs))
    }
}

/// Something that may have to be told.
#[derive(Clone, Debug)]
struct Waits {
    since: Duration,
    change: Change,
    /// An earlier head has told of it; what it tells no longer, or not as bad as it is, waits again.
    was_left: bool,
}

/// Whose turn it is to tell of what.
#[derive(Clone, Debug, Default)]
pub struct Turns {
    waiting: BTreeMap<Key, Waits>,
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

    /// Whether nothing waits, and nothing is left to others: then what they show does not matter.
    pub fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.left_to_others.is_empty()
    }

    /// Adds those of which nobody has told yet.
    pub fn untold(&self, waiting: &mut Waiting) {
        self.waiting
            .values()
            .for_each(|waits| waiting.put(&waits.change));
    }

    /// Takes what began, got worse and ended here; gives what this watch is to tell now.
    pub fn take(
        &mut self,
        now: Duration,
        changes: Vec<Change>,
        seen: &OtherWatches,
    ) -> Vec<Change> {
        let mut told = Vec::new();
        for change in changes {
            match change {
                Change::Began(ref alarm) => {
                    let key = alarm.key();
                    self.left_to_others.remove(&key);
                    let waits = Waits {
                        since: now,
                        change,
                        was_left: false,
                    };
                    self.waiting.insert(key, waits);
                }
                Change::Worse(alarm) => self.worse(now, alarm),
                Change::Ended(alarm) => {
                    let waited = self.waiting.remove(&alarm.key());
                    let left = self.left_to_others.remove(&alarm.key());
                    // Who told of its beginning tells of its end, if somebody is there who can.
                    let left = left || waited.as_ref().is_some_and(|waited| waited.was_left);
                    if left && seen.earlier.is_some() {
                        continue;
                    }
                    let untold = waited.filter(|waited| !waited.was_left);
                    told.extend(untold.map(|untold| untold.change));
                    told.push(Change::Ended(alarm));
                }
            }
        }
        self.take_back(now, seen);
        self.waiting.retain(|key, waits| {
            let has_all = seen.has_all(waits.change.alarm());
            let in_time = now.saturating_sub(waits.since) < WAITS;
            let still = !has_all && seen.earlier.is_some() && in_time;
            if !still && seen.has(key) {
                // Who tells a part of it tells of its end.
                self.left_to_others.insert(key.clone());
            }
            if !still && !has_all {
                told.push(waits.change.clone());
            }
            still
        });
        told
    }

    /// One that waits still is told as it is now, and at its time.
    fn worse(&mut self, now: Duration, alarm: Alarm) {
        let key = alarm.key();
        let was_left = self.left_to_others.remove(&key);
        match self.waiting.get_mut(&key) {
            Some(waits) => match &mut waits.change {
                Change::Began(it) | Change::Worse(it) | Change::Ended(it) => *it = alarm,
            },
            None => {
                let waits = Waits {
                    since: now,
                    change: Change::Worse(alarm),
                    was_left,
                };
                self.waiting.insert(key, waits);
            }
        }
    }

    /// What was left to an earlier head that does not tell of it any more, and that stands here, waits again.
    fn take_back(&mut self, now: Duration, seen: &OtherWatches) {
        for alarm in &seen.mine {
            let key = alarm.key();
            if seen.has(&key) || !self.left_to_others.remove(&key) {
                continue;
            }
            let waits = Waits {
                since: now,
                change: Change::Began(alarm.clone()),
                was_left: true,
            };
            self.waiting.insert(key, waits);
        }
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

    fn seen(earlier: &[&str]) -> OtherWatches {
        OtherWatches {
            earlier: Some(
                earlier
                    .iter()
                    .map(|code| (alarm(code).key(), alarm(code)))
                    .collect(),
            ),
            ..OtherWatches::default()
        }
    }

    /// The same, and this head shows that.
    fn and_mine(seen: OtherWatches, code: &str) -> OtherWatches {
        OtherWatches {
            mine: vec![alarm(code)],
            ..seen
        }
    }

    fn at(second: u64) -> Duration {
        Duration::from_secs(second)
    }

    #[test]
    fn the_first_head_and_one_that_is_alone_tell_at_once() {
        let mut turns = Turns::default();
        let (began, ended) = (Change::Began(alarm("a")), Change::Ended(alarm("a")));
        let alone = OtherWatches::default();
        assert_eq!(turns.take(at(0), vec![began.clone()], &alone), vec![began]);
        assert!(turns.is_idle());
        assert_eq!(turns.take(at(9), vec![ended.clone()], &alone), vec![ended]);
    }

    #[test]
    fn what_an_earlier_head_sees_too_it_tells_with_its_end() {
        let mut turns = Turns::default();
        let (began, ended) = (Change::Began(alarm("a")), Change::Ended(alarm("a")));
        assert_eq!(turns.take(at(0), vec![began.clone()], &seen(&[])), []);
        assert!(!turns.is_idle(), "it waits");
        assert_eq!(turns.take(at(2), vec![], &seen(&["a"])), []);
        assert!(!turns.is_idle(), "it may come back");
        assert_eq!(turns.take(at(60), vec![ended.clone()], &seen(&[])), []);
        // Had that head died meanwhile, nobody else would tell of the end.
        turns.take(at(70), vec![began], &seen(&["a"]));
        assert_eq!(
            turns.take(at(80), vec![ended.clone()], &OtherWatches::default()),
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
        assert_eq!(
            turns.take(at(31), vec![], &OtherWatches::default()),
            vec![began]
        );
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
        let alone = OtherWatches::default();
        assert_eq!(turns.take(at(9), vec![ended.clone()], &alone), vec![ended]);
    }

    #[test]
    fn what_an_earlier_head_tells_no_longer_is_told_here() {
        let began = Change::Began(alarm("a"));
        let ended = Change::Ended(alarm("a"));
        let left = || {
            let mut turns = Turns::default();
            let theirs = and_mine(seen(&["a"]), "a");
            assert_eq!(turns.take(at(0), vec![began.clone()], &theirs), []);
            turns
        };
        // It sees it no longer, and has told that it is over; here it stands.
        let gone = and_mine(seen(&[]), "a");
        let mut turns = left();
        assert_eq!(turns.take(at(10), vec![], &gone), []);
        assert_eq!(turns.take(at(16), vec![], &gone), vec![began.clone()]);
        assert_eq!(
            turns.take(at(30), vec![ended.clone()], &seen(&[])),
            vec![ended.clone()]
        );
        // It was over there a moment before it is here.
        let mut turns = left();
        assert_eq!(turns.take(at(10), vec![], &gone), []);
        assert_eq!(turns.take(at(12), vec![ended.clone()], &seen(&[])), []);
        // It answers no more, or has nobody to tell: what it has told may have been lost with it.
        let mut turns = left();
        let alone = and_mine(OtherWatches::default(), "a");
        assert_eq!(turns.take(at(10), vec![], &alone), vec![began]);
        assert_eq!(turns.take(at(11), vec![], &alone), []);
        assert_eq!(
            turns.take(at(20), vec![ended.clone()], &OtherWatches::default()),
            vec![ended]
        );
    }

    #[test]
    fn a_part_of_another_heads_alarm_is_not_told_by_itself() {
        let mut turns = Turns::default();
        let absorbed = OtherWatches {
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

    #[test]
    fn what_is_worse_here_than_an_earlier_head_has_it_is_told_here_and_its_end_there() {
        let error = Alarm {
            severity: Severity::Error,
            ..alarm("a")
        };
        let (began, worse) = (Change::Began(alarm("a")), Change::Worse(error.clone()));
        let ended = Change::Ended(error.clone());
        let mut turns = Turns::default();
        assert_eq!(turns.take(at(0), vec![began], &seen(&["a"])), []);
        // The earlier head may see it a moment later.
        let waits = turns.take(at(10), vec![worse.clone()], &seen(&["a"]));
        assert_eq!(waits, []);
        let mut untold = Waiting::default();
        turns.untold(&mut untold);
        assert!(untold.began.is_empty() && untold.worse.contains_key(&error.key()));
        let mut bad = seen(&[]);
        bad.earlier = Some([(error.key(), error.clone())].into());
        let mut sees = turns.clone();
        assert_eq!(sees.take(at(12), vec![], &bad), []);
        assert!(sees.waiting.is_empty() && !sees.is_idle());
        // It does not.
        assert_eq!(turns.take(at(16), vec![], &seen(&["a"])), vec![worse]);
        assert_eq!(turns.take(at(17), vec![], &seen(&["a"])), []);
        assert_eq!(turns.take(at(30), vec![ended], &seen(&["a"])), []);
    }

    #[test]
    fn what_has_links_here_that_an_earlier_head_does_not_show_is_told_here_too() {
        let group = |hosts: &[&str]| Alarm {
            parts: hosts
                .iter()
                .map(|host| Place::on(&(*host).into()))
                .collect(),
            ..alarm("a")
        };
        let mut theirs = seen(&[]);
        theirs.earlier = Some([(group(&[]).key(), group(&["head1"]))].into());
        let began = Change::Began(group(&["head2"]));
        let mut turns = Turns::default();
        assert_eq!(turns.take(at(0), vec![began.clone()], &theirs), []);
        assert_eq!(turns.take(at(6), vec![], &theirs), vec![began]);
        // Over there, it stands here: who was told that it is over hears that it is not.
        let stands = OtherWatches {
            mine: vec![group(&["head2"])],
            ..seen(&[])
        };
        assert_eq!(turns.take(at(20), vec![], &stands), []);
        assert_eq!(turns.take(at(26), vec![], &stands).len(), 1);
    }
}
