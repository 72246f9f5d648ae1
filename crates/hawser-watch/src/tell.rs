//! Messages to people: what began and what ended, as the JSON of an Alertmanager's webhook, for a [`Receiver`].

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{self, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};

use hawser_host::Clock;
use hawser_model::date::utc_seconds;
use hawser_model::output::watch::Alarm;
use serde_json::{Value, json};

use crate::changes::Change;
use crate::judge::Key;
use crate::locked::locked;
use crate::outbox::{Counts, Letter, Outbox};
use crate::receiver::Receiver;
use crate::threads::Threads;

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
    let (status, what, alarm, ends) = match change {
        Change::Began(alarm) => ("firing", "began", alarm, None),
        Change::Worse(alarm) => ("firing", "got worse", alarm, None),
        Change::Ended(alarm) => ("resolved", "ended", alarm, Some(time_of_day)),
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
        "change": what,
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

/// How many messages wait about each alarm.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    /// Of its beginning.
    pub began: BTreeMap<Key, u32>,
    /// That it got worse.
    pub worse: BTreeMap<Key, u32>,
    /// Of its end.
    pub ended: BTreeMap<Key, u32>,
}

impl Waiting {
    fn of(&mut self, change: &Change) -> (&mut BTreeMap<Key, u32>, Key) {
        let all = match change {
            Change::Began(_) => &mut self.began,
            Change::Worse(_) => &mut self.worse,
            Change::Ended(_) => &mut self.ended,
        };
        (all, change.alarm().key())
    }

    /// One more waits, about this.
    pub(crate) fn put(&mut self, change: &Change) {
        let (all, key) = self.of(change);
        *all.entry(key).or_default() += 1;
    }

    fn take(&mut self, change: &Change) {
        let (all, key) = self.of(change);
        if let Some(count) = all.get_mut(&key) {
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
        let letter = Letter {
            message,
            change: change.clone(),
        };
        locked(&self.told).waiting.put(change);
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
        gone.iter()
            .for_each(|letter| shown.waiting.take(&letter.change));
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
        assert_eq!(one["annotations"]["change"], "began");
        // One that got worse is the same to whoever takes it.
        let worse = Alarm {
            severity: hawser_model::finding::Severity::Error,
            ..alarm.clone()
        };
        let worse = &message(&Change::Worse(worse), &from, 1_700_000_030)["alerts"][0];
        assert_eq!(
            [
                &worse["status"],
                &worse["labels"]["severity"],
                &worse["annotations"]["change"]
            ],
            ["firing", "error", "got worse"]
        );
        assert_eq!(worse["fingerprint"], one["fingerprint"]);
        // What a head says stays within its string.
        assert!(!began.to_string().contains('\n'));
        let ended = message(&Change::Ended(alarm), &from, 1_700_000_060);
        assert_eq!(ended["alerts"][0]["endsAt"], "2023-11-14T22:14:20Z");
        assert_eq!(one["fingerprint"], ended["alerts"][0]["fingerprint"]);
    }
}
