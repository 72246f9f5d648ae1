//! Alarms over time: when one begins, that a flapping one is one, and when it ends.
//!
//! A trouble is an alarm from the reading that first shows it. It ends when no reading has shown it for [`HOLD`]. One
//! that came back within [`AGAIN`] is the same alarm, with a count; from the third time on it flaps, and ends only after
//! [`FLAPS_HOLD`] of quiet, so that it is told once and not each time.
//!
//! One stands for as long as what it is judged by is not read: so does one from the watch before this one.

use std::collections::BTreeMap;
use std::time::Duration;

use hawser_model::output::watch::Alarm;

use crate::group::PORT;
use crate::judge::{Key, Sighting};

/// A trouble that no reading has shown for so long has ended.
pub const HOLD: Duration = Duration::from_secs(4);

/// The same for a port: the heartbeat link over it comes back some seconds after it, and is no alarm of its own until
/// then.
pub const PORT_HOLD: Duration = Duration::from_secs(7);

/// The same for one that flaps.
pub const FLAPS_HOLD: Duration = Duration::from_secs(60);

/// One that comes back within so long after its end is the same alarm.
pub const AGAIN: Duration = Duration::from_secs(30);

/// From so many times on it flaps.
pub const FLAPS: u64 = 3;

/// More troubles than so many at once are counted, not kept: what heads say must not fill the memory.
pub const MOST: usize = 1000;

/// What is wrong, as the keeper has it.
pub type Alarms = Vec<Alarm>;

#[derive(Clone, Debug)]
struct Kept {
    sighting: Sighting,
    /// Time of day, in seconds.
    since: u64,
    times: u64,
    /// When a reading last showed it.
    shown: Duration,
    /// Whether the reading that is being taken has not shown it yet.
    missed: bool,
    /// Whether a reading since it was shown did not show it.
    gone: bool,
    /// Whether it is an alarm still.
    raised: bool,
}

/// The alarms of a watch, from reading to reading.
#[derive(Clone, Debug, Default)]
pub struct Keeper {
    kept: BTreeMap<Key, Kept>,
    not_kept: u64,
}

impl Keeper {
    /// Takes what a reading shows. `now` never steps back; `time_of_day`, in seconds since 1970 UTC, may.
    pub fn take(&mut self, now: Duration, time_of_day: u64, seen: Vec<Sighting>) {
        self.take_of(now, time_of_day, seen, &|_| true);
    }

    /// The same where not all is read now that alarms are judged by: `is_read` says of one whether what tells of it is.
    pub fn take_of(
        &mut self,
        now: Duration,
        time_of_day: u64,
        seen: Vec<Sighting>,
        is_read: &dyn Fn(&Sighting) -> bool,
    ) {
        for kept in self.kept.values_mut() {
            // One that is shown again by this reading was gone if the last one did not show it.
            kept.missed = true;
        }
        for sighting in seen {
            let key = sighting.key();
            let full = self.kept.len() >= MOST;
            match self.kept.get_mut(&key) {
                Some(kept) => kept.again(now, sighting),
                None if full => self.not_kept += 1,
                None => {
                    self.kept.insert(key, Kept::new(now, time_of_day, sighting));
                }
            }
        }
        for kept in self.kept.values_mut().filter(|kept| kept.missed) {
            if kept.raised && !is_read(&kept.sighting) {
                kept.shown = now;
                continue;
            }
            kept.gone = true;
            kept.raised &= now.saturating_sub(kept.shown) < kept.hold();
        }
        self.kept
            .retain(|_, kept| kept.raised || now.saturating_sub(kept.shown) < AGAIN);
    }

    /// Takes the alarms that stood when the watch before this one was last heard of. One that is known already is the same.
    pub fn resume(&mut self, now: Duration, time_of_day: u64, alarms: Alarms) {
        for alarm in alarms {
            let since = alarm.since.unwrap_or(time_of_day);
            let sighting = Sighting::from(alarm.clone());
            let full = self.kept.len() >= MOST;
            match self.kept.get_mut(&sighting.key()) {
                Some(kept) => {
                    kept.since = since;
                    kept.times = kept.times.max(alarm.times);
                }
                None if full => self.not_kept += 1,
                None => {
                    let kept = Kept {
                        times: alarm.times,
                        ..Kept::new(now, since, sighting)
                    };
                    self.kept.insert(kept.sighting.key(), kept);
                }
            }
        }
    }

    /// The alarms that stand, each trouble by itself.
    pub fn alarms(&self) -> Alarms {
        let raised = self.kept.values().filter(|kept| kept.raised);
        let alarm = |kept: &Kept| Alarm {
            since: Some(kept.since),
            times: kept.times,
            ..alarm(&kept.sighting)
        };
        raised.map(alarm).collect()
    }

    /// How many sightings were not kept, since there were too many at once.
    pub fn not_kept(&self) -> u64 {
        self.not_kept
    }
}

impl Kept {
    fn new(now: Duration, time_of_day: u64, sighting: Sighting) -> Self {
        Self {
            sighting,
            since: time_of_day,
            times: 1,
            shown: now,
            missed: false,
            gone: false,
            raised: true,
        }
    }

    fn again(&mut self, now: Duration, sighting: Sighting) {
        self.times += u64::from(self.gone);
        self.sighting = sighting;
        self.shown = now;
        self.missed = false;
        self.gone = false;
        self.raised = true;
    }

    fn hold(&self) -> Duration {
        match self.times >= FLAPS {
            true => FLAPS_HOLD,
            false if PORT.contains(&self.sighting.code.as_str()) => PORT_HOLD,
            false => HOLD,
        }
    }
}

/// A sighting as an alarm of a single reading.
pub fn alarm(sighting: &Sighting) -> Alarm {
    Alarm {
        code: sighting.code.clone(),
        severity: sighting.severity,
        place: sighting.place.clone(),
        parts: Vec::new(),
        since: None,
        times: 1,
        text: sighting.text.clone(),
        fix: sighting.fix.clone(),
    }
}

#[cfg(test)]
mod tests {
    use hawser_model::finding::{Place, Severity};

    use super::*;

    fn down(link: &str) -> Sighting {
        Sighting {
            code: "heartbeat-link-down".into(),
            severity: Severity::Warning,
            place: Place {
                link: Some(link.into()),
                ..Place::on(&"head1".into())
            },
            text: format!("heartbeat link {link} between head1 and head2 is down"),
            fix: None,
        }
    }

    /// One reading a second, `#` with the trouble and `.` without it; after each, how often it has come, 0 for no alarm.
    fn told(readings: &str) -> Vec<u64> {
        let mut keeper = Keeper::default();
        let one = |(second, shows): (u64, char)| {
            let seen = if shows == '#' {
                vec![down("ring1")]
            } else {
                Vec::new()
            };
            keeper.take(Duration::from_secs(second), 1_000 + second, seen);
            let alarms = keeper.alarms();
            assert!(alarms.len() < 2, "{alarms:?}");
            alarms.first().map_or(0, |alarm| alarm.times)
        };
        (0..).zip(readings.chars()).map(one).collect()
    }

    #[test]
    fn an_alarm_begins_at_once_and_ends_four_seconds_after_its_cause() {
        assert_eq!(told("..##....."), [0, 0, 1, 1, 1, 1, 1, 0, 0]);
    }

    #[test]
    fn a_flapping_link_is_one_alarm_with_a_count() {
        let told = told("#.....#.....#.....#.....");
        assert_eq!(told[..7], [1, 1, 1, 1, 0, 0, 2]);
        // The third time it flaps: from then on it stands through the quiet in between.
        assert_eq!(told[12..], [3, 3, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4]);
    }

    #[test]
    fn what_flapped_ends_after_a_minute_of_quiet_and_is_new_then() {
        let flaps = format!("#.#.#{}#{}#", ".".repeat(60), ".".repeat(31));
        let told = told(&flaps);
        assert_eq!((told[4], told[63], told[64]), (3, 3, 0));
        assert_eq!((told[65], told[97]), (1, 1));
    }

    #[test]
    fn its_beginning_stays_and_its_words_are_the_last() {
        let mut keeper = Keeper::default();
        keeper.take(Duration::ZERO, 50, vec![down("ring1")]);
        let mut later = down("ring1");
        later.text = "another number".into();
        // The clock was stepped back by an hour meanwhile: what is kept does not move.
        keeper.take(Duration::from_secs(1), 10, vec![later]);
        let alarms = keeper.alarms();
        assert_eq!((alarms[0].since, alarms[0].times), (Some(50), 1));
        assert_eq!(alarms[0].text, "another number");
    }

    #[test]
    fn an_alarm_has_not_ended_while_what_it_is_judged_by_is_not_read() {
        let mut keeper = Keeper::default();
        let mut stands = |second: u64, shows: bool, read: bool| {
            let seen = shows.then(|| down("ring1")).into_iter().collect();
            let now = Duration::from_secs(second);
            keeper.take_of(now, second, seen, &|_| read);
            !keeper.alarms().is_empty()
        };
        assert!(stands(0, true, true));
        assert!((1..60).all(|second| stands(second, false, false)));
        assert!(stands(60, false, true));
        assert!(!stands(64, false, true));
        assert!(!stands(65, false, false), "it is over");
    }

    #[test]
    fn what_heads_say_does_not_fill_the_memory() {
        let mut keeper = Keeper::default();
        let many = (0..MOST + 7).map(|n| down(&format!("ring{n}"))).collect();
        keeper.take(Duration::ZERO, 0, many);
        assert_eq!((keeper.alarms().len(), keeper.not_kept()), (MOST, 7));
    }
}
