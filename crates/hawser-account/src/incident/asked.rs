//! The time that somebody asks about: which incidents lie in it, and from when on the logs know of it.

use std::str::FromStr;
use std::time::Duration;

use hawser_model::drill::Moment;
use hawser_model::output::incident::IncidentsReport;

use super::lines::{local, moment};

/// A day in microseconds.
const DAY_US: u64 = 86_400_000_000;

/// What can be written.
const FORMS: &str = "write \"2026-11-27 03:12\", \"03:12\" (the last one) or \"2h\" (ago), in the heads' local time";

/// A time as a person names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskedTime {
    /// `2026-11-27 03:12`, local time of the heads.
    At(Moment),
    /// `03:12`, so many microseconds after midnight: the last one that is over.
    Clock(u64),
    /// `2h` ago.
    Ago(Duration),
}

impl FromStr for AskedTime {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // All times are the heads' local ones: one of UTC would be taken for that.
        if text.ends_with(['Z', 'z']) {
            return Err(FORMS.to_owned());
        }
        // Seconds may be left out.
        let parsed = |text: &str| moment(text).or_else(|| moment(&format!("{text}:00")));
        if let Some(at) = parsed(text) {
            return Ok(Self::At(at));
        }
        if let Some(at) = parsed(&format!("1970-01-01 {text}")) {
            return Ok(Self::Clock(at.0));
        }
        let ago = humantime::parse_duration(text);
        ago.map(Self::Ago).map_err(|_| FORMS.to_owned())
    }
}

impl AskedTime {
    /// Which moment it is for one who says it `now`, in local time.
    pub fn moment(self, now: Moment) -> Moment {
        match self {
            Self::At(at) => at,
            Self::Clock(us) => {
                let today = Moment(now.0 / DAY_US * DAY_US + us);
                match today <= now {
                    true => today,
                    false => Moment(today.0.saturating_sub(DAY_US)),
                }
            }
            Self::Ago(time) => {
                let us = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
                Moment(now.0.saturating_sub(us))
            }
        }
    }

    /// Which moment it is as an end: a time of day is the first one after the beginning.
    fn end(self, since: Option<Moment>, now: Moment) -> Moment {
        match (self, since) {
            (Self::Clock(us), Some(since)) => {
                let day = Moment(since.0 / DAY_US * DAY_US + us);
                match day >= since {
                    true => day,
                    false => Moment(day.0.saturating_add(DAY_US)),
                }
            }
            (time, _) => time.moment(now),
        }
    }
}

/// What is asked about: from when on, until when. Nothing: all that the logs tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// No incident that was over before.
    pub since: Option<AskedTime>,
    /// None that began later.
    pub until: Option<AskedTime>,
}

impl Asked {
    /// Leaves the incidents that lie in it, even in part, and says how many do not, and of which head the logs begin later.
    /// `now` is when it is asked, in local time.
    ///
    /// # Errors
    /// It ends before it begins: from when to when, in words.
    pub fn only(&self, report: &mut IncidentsReport, now: Moment) -> Result<(), String> {
        let since = self.since.map(|time| time.moment(now));
        let until = self.until.map(|time| time.end(since, now));
        if let (Some(since), Some(until)) = (since, until) {
            if until < since {
                return Err(format!(
                    "from {} until {}: it ends before it begins",
                    local(since),
                    local(until)
                ));
            }
        }
        let (mut before, mut after) = (0_u64, 0_u64);
        report.incidents.retain(|incident| {
            let Some(from) = moment(&incident.began) else {
                return true;
            };
            let to = from.shifted((incident.lasted_s * 1e6) as i64);
            let (early, late) = (
                since.is_some_and(|at| to < at),
                until.is_some_and(|at| from > at),
            );
            before += u64::from(early);
            after += u64::from(late);
            !early && !late
        });
        for (count, at, side) in [(before, since, "before"), (after, until, "after")] {
            if let (1.., Some(at)) = (count, at) {
                let are = if count == 1 {
                    "incident is"
                } else {
                    "incidents are"
                };
                report
                    .gaps
                    .push(format!("{count} {are} not told: {side} {}", local(at)));
            }
        }
        for head in &report.heads {
            let begins = head.from.as_deref().and_then(moment);
            if let (Some(begins), Some(since)) = (begins, since) {
                if begins > since {
                    let (host, begins, since) = (&head.host, local(begins), local(since));
                    report.gaps.push(format!("{host}: its logs begin at {begins}: what was from {since} on until then is not in them"));
                }
            }
        }
        Ok(())
    }
}

/// The last moment that the logs tell of, local time.
pub fn last(report: &IncidentsReport) -> Option<Moment> {
    let heads = report.heads.iter();
    heads.filter_map(|head| moment(head.to.as_deref()?)).max()
}

#[cfg(test)]
mod tests {
    use hawser_model::output::incident::LogKind;

    use super::super::{LogFile, Names, incidents};
    use super::*;

    /// 2026-11-27 04:00:00.
    const NOW: &str = "2026-11-27 04:00:00";

    fn now() -> Moment {
        moment(NOW).expect("a moment")
    }

    #[test]
    fn a_time_is_named_in_three_ways() {
        for (text, is) in [
            ("2026-11-26 03:12", "2026-11-26 03:12:00.000"),
            ("2026-11-26T03:12:30", "2026-11-26 03:12:30.000"),
            ("03:12", "2026-11-27 03:12:00.000"),
            ("03:12:30", "2026-11-27 03:12:30.000"),
            // It is not evening yet.
            ("23:10", "2026-11-26 23:10:00.000"),
            ("2h", "2026-11-27 02:00:00.000"),
            ("1day 30min", "2026-11-26 03:30:00.000"),
        ] {
            let time: AskedTime = text.parse().expect(text);
            assert_eq!(local(time.moment(now())), is, "{text}");
        }
        for wrong in [
            "",
            "yesterday",
            "25:00",
            "03",
            "2026-13-01 03:12",
            "2026-11-27",
            "-2h",
            "3:12",
            "2026-11-27T03:12:30Z",
            "03:12Z",
            "\u{e9}",
        ] {
            let why = wrong.parse::<AskedTime>().expect_err(wrong);
            assert!(
                why.starts_with("write \"2026-11-27 03:12\", \"03:12\""),
                "{why}"
            );
        }
    }

    /// Corosync of head2 lost head1 at these times.
    fn report(times: &[&str]) -> IncidentsReport {
        let text = times.iter().map(|time| {
            format!(
                "Nov {time}.000 [1] head2 corosync notice  [TOTEM ] A processor failed, forming new configuration: token timed out (1000ms), waiting\n\
                 Nov {time}.500 [1] head2 corosync notice  [TOTEM ] A new membership (2.d) was formed. Members left: 1\n"
            )
        });
        let file = LogFile {
            kind: LogKind::Corosync,
            folder: "head2".to_owned(),
            text: text.collect(),
        };
        incidents(&[file], &[], &Names::default(), now().0 / 1_000_000)
    }

    #[test]
    fn incidents_outside_of_the_time_are_counted_and_so_is_what_no_log_knows() {
        let all = report(&["26 20:00:00", "27 03:12:00", "27 03:50:00"]);
        assert_eq!(all.incidents.len(), 3, "{all:#?}");
        let asked = |since: &str, until: &str| {
            let mut report = all.clone();
            let time = |text: &str| (!text.is_empty()).then(|| text.parse().expect(text));
            let asked = Asked {
                since: time(since),
                until: time(until),
            };
            let done = asked.only(&mut report, now());
            let ids: Vec<String> = report.incidents.into_iter().map(|one| one.id).collect();
            let gaps = report.gaps.split_off(all.gaps.len());
            done.map(|()| (ids, gaps))
        };
        assert_eq!(asked("", "").expect("all").0.len(), 3);
        let (ids, gaps) = asked("03:00", "03:30").expect("half an hour");
        assert_eq!(ids, ["20261127-031159"]);
        assert_eq!(
            gaps,
            [
                "1 incident is not told: before 2026-11-27 03:00:00.000",
                "1 incident is not told: after 2026-11-27 03:30:00.000"
            ]
        );
        // What goes on is in it.
        assert_eq!(asked("03:12", "").expect("since").0.len(), 2);
        let (ids, gaps) = asked("2d", "").expect("two days");
        assert_eq!((ids.len(), gaps.len()), (3, 1));
        assert!(
            gaps[0].starts_with("head2: its logs begin at 2026-11-26 20:00:00.000"),
            "{gaps:?}"
        );
        // It goes on past now, and past midnight.
        assert_eq!(asked("03:00", "05:00").expect("until later").0.len(), 2);
        assert_eq!(
            asked("2026-11-26 19:00", "18:00").expect("a day").0.len(),
            3
        );
        let why = asked("03:30", "2026-11-27 03:00").expect_err("the wrong way round");
        assert_eq!(
            why,
            "from 2026-11-27 03:30:00.000 until 2026-11-27 03:00:00.000: it ends before it begins"
        );
    }
}
