//! Messages to people: what began and what ended, as the JSON of an Alertmanager's webhook, for a [`Receiver`]. What cannot be delivered waits, is tried again ever more seldom, and is counted when too much waits.

use std::collections::VecDeque;
use std::sync::mpsc::{self, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use hawser_host::Clock;
use hawser_model::date::utc_seconds;
use hawser_model::output::watch::Alarm;
use serde_json::{Value, json};

use crate::changes::Change;
use crate::locked::locked;
use crate::receiver::Receiver;

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
        since: Some(time_of_day),
        times: 1,
        text: "This is a test by `hawser watch --test-alarm`: nothing is wrong.".to_owned(),
        fix: None,
    }
}

/// What waits to be delivered, in its order. Pure.
#[derive(Debug, Default)]
pub struct Outbox {
    waiting: VecDeque<Value>,
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
    /// One more waits; the oldest is given up when there is no room.
    pub fn put(&mut self, message: Value) {
        if self.waiting.len() >= WAITING {
            self.waiting.pop_front();
            self.counts.lost += 1;
        }
        self.waiting.push_back(message);
    }

    /// What is to be delivered now.
    pub fn due(&self, now: Duration) -> Option<&Value> {
        self.waiting.front().filter(|_| now >= self.next)
    }

    /// In how long something is due; absent when nothing waits.
    pub fn wait(&self, now: Duration) -> Option<Duration> {
        let front = self.waiting.front();
        front.map(|_| self.next.saturating_sub(now))
    }

    /// Takes what became of the message that was due.
    pub fn went(&mut self, now: Duration, well: bool) {
        match well {
            true => {
                self.waiting.pop_front();
                self.counts.sent += 1;
                self.failures = 0;
                self.next = now;
            }
            false => {
                self.counts.failed += 1;
                let longer = FIRST.saturating_mul(1 << self.failures.min(10));
                self.failures += 1;
                self.next = now + longer.min(LONGEST);
            }
        }
    }

    /// What became of messages so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }
}

/// Delivers on a thread of its own, so that no reading waits for it.
#[derive(Clone)]
pub struct Teller {
    send: Sender<Value>,
    counts: Arc<Mutex<Counts>>,
}

impl Teller {
    /// To this receiver.
    ///
    /// # Errors
    /// There is no thread to be had.
    pub fn start(to: Receiver, clock: Clock) -> Result<Self, std::io::Error> {
        let (send, receive) = channel();
        let counts = Arc::<Mutex<Counts>>::default();
        let shown = Arc::clone(&counts);
        let work = move || deliver_all(&to, &clock, &receive, &shown);
        thread::Builder::new().name("tell".into()).spawn(work)?;
        Ok(Self { send, counts })
    }

    /// Delivers this as soon as that is possible.
    pub fn tell(&self, message: Value) {
        // The other end lasts as long as the process.
        let _lasts = self.send.send(message);
    }

    /// What became of messages so far.
    pub fn counts(&self) -> Counts {
        *locked(&self.counts)
    }
}

fn deliver_all(
    to: &Receiver,
    clock: &Clock,
    receive: &mpsc::Receiver<Value>,
    shown: &Mutex<Counts>,
) {
    let mut outbox = Outbox::default();
    loop {
        let came = match outbox.wait(clock.now()) {
            Some(wait) => receive.recv_timeout(wait),
            None => receive.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match came {
            Ok(message) => outbox.put(message),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        while let Ok(message) = receive.try_recv() {
            outbox.put(message);
        }
        if let Some(message) = outbox.due(clock.now()) {
            let well = to.deliver(message).is_ok();
            outbox.went(clock.now(), well);
        }
        *locked(shown) = outbox.counts();
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
