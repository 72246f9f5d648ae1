//! Messages that wait until somebody takes them: what cannot be delivered is tried again ever more seldom. Pure.

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use serde_json::Value;

use crate::changes::Change;
use crate::judge::Key;

/// When more messages wait, those of alarms that have come and gone meanwhile are given up.
const WAITING: usize = 100;

/// From the first failure to the next try; doubled from try to try.
const FIRST: Duration = Duration::from_secs(1);

/// Tries are never further apart.
const LONGEST: Duration = Duration::from_secs(300);

/// A message about a change.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Letter {
    /// What is said.
    pub message: Value,
    /// Of what.
    pub change: Change,
}

/// What waits to be delivered, in its order.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    waiting: VecDeque<Letter>,
    failures: u32,
    next: Duration,
    counts: Counts,
}

/// What became of messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Delivered.
    pub sent: u64,
    /// Tries that failed.
    pub failed: u64,
    /// Given up, since too many waited.
    pub lost: u64,
}

impl Outbox {
    /// One more waits; gives those that are given up for want of room.
    ///
    /// Nobody is left with a wrong picture: an alarm that stands is told whenever that is possible, and so is the end of one whose
    /// beginning was told. There are no more of them than a watch keeps alarms.
    pub fn put(&mut self, letter: Letter) -> Vec<Letter> {
        self.waiting.push_back(letter);
        let mut lost = Vec::new();
        while self.waiting.len() > WAITING {
            let Some(all) = self.came_and_went() else {
                break;
            };
            // The last one first: the others stay where they are.
            for at in all.into_iter().rev() {
                lost.extend(self.waiting.remove(at));
            }
        }
        self.counts.lost += lost.len() as u64;
        lost
    }

    /// A beginning and what follows it up to its end: the oldest of the alarm that came and went most often, as one of a port
    /// that flaps.
    fn came_and_went(&self) -> Option<Vec<usize>> {
        let mut stand = BTreeMap::<Key, Vec<usize>>::new();
        let mut gone = BTreeMap::<Key, Vec<Vec<usize>>>::new();
        // What was tried may have arrived.
        let tried = usize::from(self.failures > 0);
        for (at, letter) in self.waiting.iter().enumerate().skip(tried) {
            let key = letter.change.alarm().key();
            match letter.change {
                Change::Began(_) => drop(stand.insert(key, vec![at])),
                Change::Worse(_) => {
                    if let Some(all) = stand.get_mut(&key) {
                        all.push(at);
                    }
                }
                Change::Ended(_) => {
                    if let Some(mut all) = stand.remove(&key) {
                        all.push(at);
                        gone.entry(key).or_default().push(all);
                    }
                }
            }
        }
        let most = gone
            .into_values()
            .max_by_key(|all| (all.len(), Reverse(all[0][0])));
        most.and_then(|all| all.into_iter().next())
    }

    /// What is to be delivered now.
    pub fn due(&self, now: Duration) -> Option<&Letter> {
        self.waiting.front().filter(|_| now >= self.next)
    }

    /// In how long something is due; absent when nothing waits.
    pub fn wait(&self, now: Duration) -> Option<Duration> {
        let front = self.waiting.front();
        front.map(|_| self.next.saturating_sub(now))
    }

    /// Takes what became of the message that was due, which is given back if it is delivered.
    pub fn went(&mut self, now: Duration, well: bool) -> Option<Letter> {
        match well {
            true => {
                self.counts.sent += 1;
                self.failures = 0;
                self.next = now;
                self.waiting.pop_front()
            }
            false => {
                self.counts.failed += 1;
                let longer = FIRST.saturating_mul(1 << self.failures.min(10));
                self.failures += 1;
                self.next = now + longer.min(LONGEST);
                None
            }
        }
    }

    /// What became of messages so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Whether the last try failed.
    pub fn fails(&self) -> bool {
        self.failures > 0
    }
}

#[cfg(test)]
mod tests {
    use hawser_model::output::watch::Alarm;
    use serde_json::json;

    use super::*;
    use crate::tell::test_alarm;

    fn letter(code: &str, began: bool) -> Letter {
        let code = code.to_owned();
        let alarm = Alarm {
            code,
            ..test_alarm(1)
        };
        let message = json!(alarm.code);
        let change = match began {
            true => Change::Began(alarm),
            false => Change::Ended(alarm),
        };
        Letter { message, change }
    }

    /// All that is delivered at last: `+` and `-`, with the code.
    fn delivered(outbox: &mut Outbox) -> Vec<String> {
        let all = std::iter::from_fn(|| outbox.went(LONGEST, true));
        let words = |it: Letter| match it.change {
            Change::Began(alarm) => format!("+{}", alarm.code),
            Change::Worse(alarm) => format!("!{}", alarm.code),
            Change::Ended(alarm) => format!("-{}", alarm.code),
        };
        all.map(words).collect()
    }

    #[test]
    fn what_is_not_delivered_waits_ever_longer() {
        let mut outbox = Outbox::default();
        let one = letter("a", true);
        outbox.put(one.clone());
        let mut now = Duration::ZERO;
        let mut tries = Vec::new();
        for _ in 0..12 {
            now += outbox.wait(now).unwrap();
            assert_eq!(outbox.due(now), Some(&one));
            tries.push(now.as_secs());
            outbox.went(now, false);
            assert_eq!(outbox.due(now), None);
        }
        assert_eq!(tries[..5], [0, 1, 3, 7, 15]);
        assert_eq!(tries[11] - tries[10], 300);
        now += LONGEST;
        outbox.went(now, true);
        assert_eq!(outbox.wait(now), None);
        let counts = Counts {
            sent: 1,
            failed: 12,
            lost: 0,
        };
        assert_eq!(outbox.counts(), counts);
    }

    #[test]
    fn a_port_that_flaps_pushes_out_no_alarm_that_stands_and_no_other_one() {
        let mut outbox = Outbox::default();
        // The first of the port's beginnings was told before nobody took anything any more.
        for (code, began) in [
            ("pool", true),
            ("port", false),
            ("fan", true),
            ("fan", false),
        ] {
            assert_eq!(outbox.put(letter(code, began)), []);
        }
        let mut lost = Vec::new();
        for _ in 0..60 {
            lost.extend(outbox.put(letter("port", true)));
            lost.extend(outbox.put(letter("port", false)));
        }
        assert!(lost.iter().all(|it| it.message == json!("port")));
        assert_eq!((lost.len(), outbox.counts().lost), (24, 24));
        lost.extend(outbox.put(letter("port", true)));
        let all = delivered(&mut outbox);
        assert_eq!(all[..4], ["+pool", "-port", "+fan", "-fan"]);
        assert_eq!(all.last().unwrap(), "+port");
        assert_eq!(all.len() + lost.len(), 4 + 2 * 60 + 1);
    }

    #[test]
    fn alarms_that_stand_wait_however_many_they_are() {
        let mut outbox = Outbox::default();
        for n in 0..3 * WAITING {
            assert_eq!(outbox.put(letter(&format!("a{n}"), true)), []);
        }
        // One that got worse, and ends untold, makes room.
        let mut worse = letter("a7", true);
        worse.change = match worse.change {
            Change::Began(alarm) => Change::Worse(alarm),
            other => other,
        };
        assert_eq!(outbox.put(worse), []);
        assert_eq!(outbox.put(letter("a7", false)).len(), 3);
        let all = delivered(&mut outbox);
        assert_eq!((all.len(), &*all[0]), (3 * WAITING - 1, "+a0"));
        assert!(!all.contains(&"+a7".to_owned()));
    }
}
