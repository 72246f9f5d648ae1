//! Which alarms began, got worse and ended from one reading to the next. Pure.

use std::collections::{BTreeMap, BTreeSet};

use hawser_model::output::watch::Alarm;

use crate::judge::Key;
use crate::shown::Shown;
use crate::tell::Waiting;
use crate::worse::{add, is_worse};

/// An alarm that began, got worse or ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// It stands from now on.
    Began(Alarm),
    /// It stands, and is worse than was told.
    Worse(Alarm),
    /// It does not stand any more.
    Ended(Alarm),
}

impl Change {
    /// The alarm, as it is or was last.
    pub fn alarm(&self) -> &Alarm {
        match self {
            Self::Began(alarm) | Self::Worse(alarm) | Self::Ended(alarm) => alarm,
        }
    }
}

/// What was said to have begun and has not ended.
///
/// A trouble that becomes part of another alarm, as a heartbeat link when a second link of its switch goes down, has not ended: who
/// was told of it hears of its end when it is over, by itself or within the other.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// As bad as each was said to be.
    told: BTreeMap<Key, Alarm>,
    /// As those were told before they got worse; of some the message about that may wait.
    before: BTreeMap<Key, Alarm>,
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
            let mut said = alarm.clone();
            match self.told.get(&key) {
                None => all.push(Change::Began(alarm.clone())),
                Some(told) => {
                    if is_worse(alarm, told) {
                        all.push(Change::Worse(alarm.clone()));
                        let before = self.before.entry(key.clone());
                        before.or_insert_with(|| told.clone());
                    }
                    add(&mut said, told);
                }
            }
            alarms.insert(key, said);
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
        self.before.retain(|key, _| waiting.worse.contains_key(key));
        let ended = self.ended.iter();
        let ended = ended.filter(|(key, _)| !self.told.contains_key(*key));
        let all = self.told.iter().chain(ended);
        let all = all.filter(|(key, _)| !waiting.began.contains_key(*key));
        all.map(|(key, alarm)| self.before.get(key).unwrap_or(alarm).clone())
            .collect()
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

    /// What is said when these stand one after the other: `+`, `!` for worse and `-`, with the code and the link.
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
                Change::Worse(alarm) => words('!', &alarm),
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

    #[test]
    fn what_gets_worse_is_told_again_and_what_wavers_is_not() {
        let warning = trouble("multipath-path-lost", "san1");
        let error = Alarm {
            severity: Severity::Error,
            ..warning.clone()
        };
        let (warns, fails) = (vec![&warning], vec![&error]);
        let readings = [&warns, &fails, &warns, &fails, &vec![], &warns].map(Clone::clone);
        let words = |sign: char| vec![format!("{sign}multipath-path-lost san1")];
        let told = [
            words('+'),
            words('!'),
            vec![],
            vec![],
            words('-'),
            words('+'),
        ];
        assert_eq!(said(&readings), told);
    }

    #[test]
    fn a_link_that_joins_those_of_its_switch_is_told_and_what_follows_from_it_is_not() {
        let ports = ["ring0", "san1"].map(|link| trouble("link-down", link));
        let at = |mut alarm: Alarm, host: &str, peer: Option<&str>| {
            (alarm.place.host, alarm.place.peer) = (Some(host.into()), peer.map(Into::into));
            alarm
        };
        let heartbeat = at(
            trouble("heartbeat-link-down", "ring0"),
            "head2",
            Some("head1"),
        );
        let other = at(ports[1].clone(), "head2", None);
        let [ring0, san1] = &ports;
        let first = vec![ring0, san1];
        let follows = vec![ring0, san1, &heartbeat];
        let joins = vec![ring0, san1, &heartbeat, &other];
        let told = said(&[first.clone(), follows.clone(), joins.clone(), first, joins]);
        let group = "links-of-one-switch-down ";
        let (began, worse) = (vec![format!("+{group}")], vec![format!("!{group}")]);
        assert_eq!(told, [began, vec![], worse, vec![], vec![]]);
    }

    #[test]
    fn while_the_message_about_a_worse_alarm_waits_people_know_it_as_it_was() {
        let warning = trouble("zpool-degraded", "san1");
        let error = Alarm {
            severity: Severity::Error,
            ..warning.clone()
        };
        let shown = |alarm: &Alarm| {
            let mut shown = Shown::default();
            shown.reading.alarms = vec![alarm.clone()];
            shown
        };
        let mut changes = Changes::default();
        changes.take(&shown(&warning));
        changes.take(&shown(&error));
        let mut waiting = Waiting::default();
        waiting.worse.insert(error.key(), 1);
        assert_eq!(changes.told(&waiting), std::slice::from_ref(&warning));
        // The watch after this one tells it, and it is an error to people from then on.
        let mut next = Changes::default();
        next.resume(changes.told(&waiting));
        assert_eq!(next.take(&shown(&error)), [Change::Worse(error.clone())]);
        next.take(&shown(&warning));
        let ended = next.take(&Shown::default());
        assert_eq!(ended, [Change::Ended(error.clone())]);
        assert_eq!(changes.told(&Waiting::default()), [error]);
    }
}
