//! Which alarms began and which ended from one reading to the next. Pure.

use std::collections::{BTreeMap, BTreeSet};

use hawser_model::output::watch::Alarm;

use crate::judge::Key;
use crate::shown::Shown;
use crate::tell::Waiting;

/// An alarm that began or ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// It stands from now on.
    Began(Alarm),
    /// It does not stand any more.
    Ended(Alarm),
}

/// What was said to have begun and has not ended.
///
/// A trouble that becomes part of another alarm, as a heartbeat link when a second link of its switch goes down, has not ended: who
/// was told of it hears of its end when it is over, by itself or within the other.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    told: BTreeMap<Key, Alarm>,
    /// Those whose end was said; of some the message may wait.
    ended: BTreeMap<Key, Alarm>,
}

impl Changes {
    /// What is new in a reading.
    pub fn take(&mut self, shown: &Shown) -> Vec<Change> {
        let mut all = Vec::new();
        let mut alarms = BTreeMap::new();
        let troubles = shown.troubles.iter();
        let standing: BTreeSet<Key> = troubles.map(Alarm::key).collect();
        for alarm in &shown.reading.alarms {
            let key = alarm.key();
            if !self.told.contains_key(&key) {
                all.push(Change::Began(alarm.clone()));
            }
            alarms.insert(key, alarm.clone());
        }
        for (key, alarm) in std::mem::take(&mut self.told) {
            match alarms.contains_key(&key) {
                true => {}
                false if standing.contains(&key) => _ = alarms.insert(key, alarm),
                false => {
                    all.push(Change::Ended(alarm.clone()));
                    self.ended.insert(key, alarm);
                }
            }
        }
        self.told = alarms;
        all
    }

    /// Takes what the watch before this one has told.
    pub fn resume(&mut self, told: Vec<Alarm>) {
        for alarm in told {
            self.told.entry(alarm.key()).or_insert(alarm);
        }
    }

    /// What people know to have begun, and not yet of its end, while these messages wait.
    pub fn told(&mut self, waiting: &Waiting) -> Vec<Alarm> {
        self.ended.retain(|key, _| waiting.ended.contains_key(key));
        let ended = self.ended.iter();
        let ended = ended.filter(|(key, _)| !self.told.contains_key(*key));
        let all = self.told.iter().chain(ended);
        let all = all.filter(|(key, _)| !waiting.began.contains_key(*key));
        all.map(|(_, alarm)| alarm.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use hawser_model::finding::{Place, Severity};
    use hawser_model::topology::{Link, Topology};

    use super::*;
    use crate::group::grouped;

    fn trouble(code: &str, link: &str) -> Alarm {
        Alarm {
            code: code.to_owned(),
            severity: Severity::Warning,
            place: Place {
                host: Some("head1".into()),
                link: Some(link.into()),
                ..Place::default()
            },
            parts: Vec::new(),
            since: Some(1),
            times: 1,
            text: format!("{code} of {link}"),
            fix: None,
        }
    }

    /// What is said when these stand one after the other: `+` and `-`, with the code and the link.
    fn said(readings: &[Vec<&Alarm>]) -> Vec<Vec<String>> {
        let link = |name: &str| Link {
            name: name.into(),
            mtu: None,
            speed: None,
            switch: Some("sw1".to_owned()),
            serial: false,
        };
        let topology = Topology {
            links: vec![link("ring0"), link("san1")],
            ..Topology::default()
        };
        let mut changes = Changes::default();
        let mut read = |alarms: &Vec<&Alarm>| {
            let alarms: Vec<Alarm> = alarms.iter().copied().cloned().collect();
            let mut shown = Shown {
                troubles: alarms.clone(),
                ..Shown::default()
            };
            shown.reading.alarms = grouped(alarms, &topology);
            let words = |sign: char, alarm: &Alarm| {
                let link = alarm.place.link.as_ref();
                format!("{sign}{} {}", alarm.code, link.map_or("", |it| it.as_str()))
            };
            let all = changes.take(&shown).into_iter();
            all.map(|change| match change {
                Change::Began(alarm) => words('+', &alarm),
                Change::Ended(alarm) => words('-', &alarm),
            })
            .collect()
        };
        readings.iter().map(&mut read).collect()
    }

    #[test]
    fn what_becomes_part_of_another_alarm_has_not_ended() {
        let (ring, port) = ("heartbeat-link-down", "link-down");
        let (ring0, san1) = (trouble(ring, "ring0"), trouble(port, "san1"));
        let both = vec![&ring0, &san1];
        let group = "links-of-one-switch-down ";
        let alone = said(&[vec![&ring0], both.clone(), vec![&ring0], vec![]]);
        assert_eq!(
            alone,
            [
                vec![format!("+{ring} ring0")],
                vec![format!("+{group}")],
                vec![format!("-{group}")],
                vec![format!("-{ring} ring0")],
            ]
        );
        // Who heard of the group alone hears of what is left when it is none any more.
        let together = said(&[both, vec![&san1], vec![]]);
        assert_eq!(
            together,
            [
                vec![format!("+{group}")],
                vec![format!("+{port} san1"), format!("-{group}")],
                vec![format!("-{port} san1")],
            ]
        );
        // It ends within the other too.
        let within = trouble(port, "ring0");
        let ended = said(&[vec![&ring0], vec![&ring0, &within], vec![&within]]);
        assert_eq!(
            ended,
            [
                vec![format!("+{ring} ring0")],
                vec![format!("+{port} ring0")],
                vec![format!("-{ring} ring0")],
            ]
        );
    }
}
