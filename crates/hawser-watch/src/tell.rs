//! Messages to people: what began and what ended, as the JSON of an Alertmanager's webhook, for a [`Receiver`]. What cannot be delivered waits, is tried again ever more seldom, and is counted when too much waits.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::mpsc::{self, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hawser_host::Clock;
use hawser_model::date::utc_seconds;
use hawser_model::output::watch::Alarm;
use serde_json::{Value, json};

use crate::changes::Change;
use crate::judge::Key;
use crate::locked::locked;
use crate::receiver::Receiver;
use crate::threads::Threads;

/// Messages that may wait.
const WAITING: usize = 100;

/// From the first failure to the next try; doubled from try to try.
const FIRST: Duration = Duration::from_secs(1);

/// Tries are never further apart.
const LONGEST: Duration = Duration::from_secs(300);

/// Whose alarms they are.
#[derive(Clone, Debug)]
pub struct Whose {
    /// The cluster's name.
    pub cluster: String,
    /// The head that tells; empty where all heads are asked from elsewhere.
    pub head: String,
}

/// The message about one change, in the form of an Alertmanager's webhook (version 4 of its data).
pub fn message(change: &Change, from: &Whose, time_of_day: u64) -> Value {
    let (status, alarm, ends) = match change {
        Change::Began(alarm) => ("firing", alarm, None),
        Change::Ended(alarm) => ("resolved", alarm, Some(time_of_day)),
    };
    let place = alarm.place.to_string();
    let labels = json!({
        "alertname": alarm.code,
        "severity": alarm.severity.word(),
        "cluster": from.cluster,
        "where": place,
    });
    let annotations = json!({
        "summary": alarm.text,
        "description": alarm.fix.clone().unwrap_or_default(),
        "times": alarm.times.to_string(),
        "told_by": from.head,
    });
    let at = |seconds: Option<u64>| match seconds {
        Some(seconds) => utc_seconds(seconds),
        // As Alertmanager has it for what is not known.
        None => "0001-01-01T00:00:00Z".to_owned(),
    };
    // The same from whichever head: who takes it knows it again.
    let print = fingerprint(&[&alarm.code, &place, &from.cluster]);
    json!({
        "version": "4",
        "groupKey": format!("hawser/{print}"),
        "truncatedAlerts": 0,
        "status": status,
        "receiver": "hawser",
        "groupLabels": { "alertname": alarm.code },
        "commonLabels": labels,
        "commonAnnotations": annotations,
        "externalURL": "",
        "alerts": [{
            "status": status,
            "labels": labels,
            "annotations": annotations,
            "startsAt": at(alarm.since),
            "endsAt": at(ends),
            "generatorURL": "",
            "fingerprint": print,
        }],
    })
}

/// FNV-1a: the same alarm has the same one in all versions, which `std`'s hashes do not promise.
fn fingerprint(parts: &[&str]) -> String {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in parts.iter().flat_map(|part| part.bytes().chain([0])) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    format!("{hash:016x}")
}

/// An alarm that is none, to see whether messages arrive.
pub fn test_alarm(time_of_day: u64) -> Alarm {
    Alarm {
        code: "test-alarm".to_owned(),
        severity: hawser_model::finding::Severity::Note,
        place: hawser_model::finding::Place::default(),
        parts: Vec::new(),
        since: Some(time_of_day),
        times: 1,
        text: "This is a test by `hawser watch --test-alarm`: nothing is wrong.".to_owned(),
        fix: None,
    }
}

/// A message about a change.
#[derive(Clone, Debug)]
struct Letter {
    message: Value,
    about: Key,
    began: bool,
}

/// How many messages wait of the beginning and of the end of each alarm.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    /// Of its beginning.
    pub began: BTreeMap<Key, u32>,
    /// Of its end.
    pub ended: BTreeMap<Key, u32>,
}

impl Waiting {
    fn of(&mut self, began: bool) -> &mut BTreeMap<Key, u32> {
        match began {
            true => &mut self.began,
            false => &mut self.ended,
        }
    }

    fn put(&mut self, letter: &Letter) {
        *self
            .of(letter.began)
            .entry(letter.about.clone())
            .or_default() += 1;
    }

    fn take(&mut self, letter: &Letter) {
        let all = self.of(letter.began);
        if let Some(count) = all.get_mut(&letter.about) {
            *count = count.saturating_sub(1);
        }
        all.retain(|_, count| *count > 0);
    }
}

/// What became of messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// How many.
    pub counts: Counts,
    /// The last try failed.
    pub fails: bool,
    /// Those that wait.
    pub waiting: Waiting,
    /// The alarms of which the watch of another head tells.
    pub left: BTreeSet<Key>,
}

/// What waits to be delivered, in its order. Pure.
#[derive(Debug)]
pub struct Outbox<T> {
    waiting: VecDeque<T>,
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

impl<T> Default for Outbox<T> {
    fn default() -> Self {
        Self {
            waiting: VecDeque::new(),
            failures: 0,
            next: Duration::ZERO,
            counts: Counts::default(),
        }
    }
}

impl<T> Outbox<T> {
    /// One more waits; the oldest is given up when there is no room.
    pub fn put(&mut self, message: T) -> Option<T> {
        let mut lost = None;
        if self.waiting.len() >= WAITING {
            lost = self.waiting.pop_front();
            self.counts.lost += 1;
        }
        self.waiting.push_back(message);
        lost
    }

    /// What is to be delivered now.
    pub fn due(&self, now: Duration) -> Option<&T> {
        self.waiting.front().filter(|_| now >= self.next)
    }

    /// In how long something is due; absent when nothing waits.
    pub fn wait(&self, now: Duration) -> Option<Duration> {
        let front = self.waiting.front();
        front.map(|_| self.next.saturating_sub(now))
    }

    /// Takes what became of the message that was due, which is given back if it is delivered.
    pub fn went(&mut self, now: Duration, well: bool) -> Option<T> {
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

/// Delivers on a thread of its own, so that no reading waits for it.
#[derive(Clone)]
pub struct Teller {
    send: Sender<Letter>,
    told: Arc<Mutex<Told>>,
}

impl Teller {
    /// To this receiver.
    ///
    /// # Errors
    /// There is no thread to be had.
    pub fn start(
        threads: &mut Threads,
        to: Receiver,
        clock: Clock,
    ) -> Result<Self, std::io::Error> {
        let (send, receive) = channel();
        let told = Arc::<Mutex<Told>>::default();
        let shown = Arc::clone(&told);
        let work = move || deliver_all(&to, &clock, &receive, &shown);
        threads.start("tell", work)?;
        Ok(Self { send, told })
    }

    /// Delivers the message about this change as soon as that is possible.
    pub fn tell(&self, change: &Change, message: Value) {
        let (began, alarm) = match change {
            Change::Began(alarm) => (true, alarm),
            Change::Ended(alarm) => (false, alarm),
        };
        let letter = Letter {
            message,
            about: alarm.key(),
            began,
        };
        locked(&self.told).waiting.put(&letter);
        // The other end lasts as long as the process.
        let _lasts = self.send.send(letter);
    }

    /// What became of messages so far.
    pub fn told(&self) -> Told {
        locked(&self.told).clone()
    }
}

fn deliver_all(
    to: &Receiver,
    clock: &Clock,
    receive: &mpsc::Receiver<Letter>,
    shown: &Mutex<Told>,
) {
    let mut outbox = Outbox::default();
    loop {
        let mut gone = Vec::new();
        let came = match outbox.wait(clock.now()) {
            Some(wait) => receive.recv_timeout(wait),
            None => receive.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match came {
            Ok(letter) => gone.extend(outbox.put(letter)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        while let Ok(letter) = receive.try_recv() {
            gone.extend(outbox.put(letter));
        }
        if let Some(letter) = outbox.due(clock.now()) {
            let well = to.deliver(&letter.message).is_ok();
            gone.extend(outbox.went(clock.now(), well));
        }
        let mut shown = locked(shown);
        shown.counts = outbox.counts();
        shown.fails = outbox.fails();
        gone.iter().for_each(|letter| shown.waiting.take(letter));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_what_an_alertmanager_would_send() {
        let alarm = test_alarm(1_700_000_000);
        let from = Whose {
            cluster: "c\"\n".into(),
            head: "head1".into(),
        };
        let began = message(&Change::Began(alarm.clone()), &from, 1_700_000_000);
        let one = &began["alerts"][0];
        assert_eq!(
            (&began["version"], &began["status"]),
            (&json!("4"), &json!("firing"))
        );
        assert_eq!(one["startsAt"], "2023-11-14T22:13:20Z");
        assert_eq!(one["endsAt"], "0001-01-01T00:00:00Z");
        assert_eq!(one["labels"]["alertname"], "test-alarm");
        // What a head says stays within its string.
        assert!(!began.to_string().contains('\n'));
        let ended = message(&Change::Ended(alarm), &from, 1_700_000_060);
        assert_eq!(ended["alerts"][0]["endsAt"], "2023-11-14T22:14:20Z");
        assert_eq!(one["fingerprint"], ended["alerts"][0]["fingerprint"]);
    }

    #[test]
    fn what_is_not_delivered_waits_ever_longer_and_loses_nothing_until_too_much_waits() {
        let mut outbox = Outbox::default();
        outbox.put(json!(0));
        let mut now = Duration::ZERO;
        let mut tries = Vec::new();
        for _ in 0..12 {
            now += outbox.wait(now).unwrap();
            assert_eq!(outbox.due(now), Some(&json!(0)));
            tries.push(now.as_secs());
            outbox.went(now, false);
            assert_eq!(outbox.due(now), None);
        }
        assert_eq!(tries[..5], [0, 1, 3, 7, 15]);
        assert_eq!(tries[11] - tries[10], 300);
        now += LONGEST;
        outbox.went(now, true);
        assert_eq!(outbox.wait(now), None);
        for n in 0..WAITING + 3 {
            outbox.put(json!(n));
        }
        assert_eq!(outbox.due(now), Some(&json!(3)));
        let counts = Counts {
            sent: 1,
            failed: 12,
            lost: 3,
        };
        assert_eq!(outbox.counts(), counts);
    }
}
