//! Whether an incident is under way: a head was lost or is fenced, or a pool runs nowhere, and it is not yet kept. Pure.

use std::cmp::Reverse;
use std::time::Duration;

use hawser_cluster::live::Sign;
use hawser_model::output::live::LiveRunning;
use hawser_model::output::watch::Alarm;

/// While one of these stands nothing is over yet. Of several that are seen at once the first is what the incident began with.
const ACUTE: [Sign; 6] = [
    Sign::HeadLost,
    Sign::BeingFenced,
    Sign::HeadCutOff,
    Sign::NoQuorum,
    Sign::NothingRuns,
    Sign::PoolNowhere,
];

/// A head that is away is what is left of an incident: it may be so for days. It is a sign of one while the logs have news.
const LEFT: Sign = Sign::HeadAway;

/// An alarm of an incident may be seen so long before the logs say something of it.
const SOONER_S: u64 = 10;

/// What has ended is in the list of incidents after so long.
const LISTED: Duration = Duration::from_secs(5);

/// What is happening, from second to second.
#[derive(Debug, Default)]
pub struct Running {
    now: Option<LiveRunning>,
    /// Since when nothing of it is seen any more.
    over: Option<Duration>,
    /// When the cluster was first looked at: what stood then may have begun before.
    begun_at: Option<u64>,
}

/// A moment of a watch.
#[derive(Clone, Copy, Debug)]
pub struct At {
    /// By the clock that nobody sets.
    pub now: Duration,
    /// In seconds since 1970 UTC.
    pub time: u64,
    /// When the logs began to tell what is not yet kept; absent: all that they tell is.
    pub open: Option<Duration>,
    /// Whether the cluster was looked at yet.
    pub looked: bool,
}

impl Running {
    /// Takes the alarms that stand at a moment.
    pub fn take(&mut self, at: At, alarms: &[Alarm]) {
        if at.looked {
            self.begun_at.get_or_insert(at.time);
        }
        let open = at.open.map(|open| {
            let ago = at.now.saturating_sub(open).as_secs();
            at.time.saturating_sub(ago)
        });
        let acute = alarms.iter().filter_map(|alarm| {
            let rank = ACUTE.iter().position(|sign| sign.code() == alarm.code)?;
            Some((alarm, rank))
        });
        let acute: Vec<_> = acute.collect();
        if self.now.is_none() {
            let left = alarms.iter().filter(|alarm| {
                let is_new = |since| {
                    let in_the_logs = open.is_some_and(|open| since + SOONER_S >= open);
                    in_the_logs && self.begun_at.is_some_and(|begun| since > begun)
                };
                alarm.code == LEFT.code() && alarm.since.is_some_and(is_new)
            });
            let left = left.map(|alarm| (alarm, ACUTE.len()));
            let all = acute.iter().copied().chain(left);
            // The oldest; one of which it is not known is not taken for older.
            let first =
                all.max_by_key(|(alarm, rank)| Reverse((alarm.since.unwrap_or(at.time), *rank)));
            self.now = first.map(|(alarm, _)| self.begun(alarm, at.time));
        }
        if !acute.is_empty() || at.open.is_some() {
            self.over = None;
            return;
        }
        let over = *self.over.get_or_insert(at.now);
        if at.now.saturating_sub(over) >= LISTED {
            self.now = None;
        }
    }

    fn begun(&self, alarm: &Alarm, time: u64) -> LiveRunning {
        let since = alarm.since.unwrap_or(time);
        LiveRunning {
            since,
            or_before: self.begun_at.is_none_or(|begun| since <= begun),
            trigger: alarm.text.clone(),
        }
    }

    /// What is under way.
    pub fn now(&self) -> Option<&LiveRunning> {
        self.now.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use hawser_model::finding::Place;

    use super::*;

    const DAY: u64 = 1_795_631_400;

    fn alarm(sign: Sign, since: u64) -> Alarm {
        Alarm {
            code: sign.code().into(),
            severity: sign.severity(),
            place: Place::on(&"head2".into()),
            parts: Vec::new(),
            since: Some(DAY + since),
            times: 1,
            text: sign.code().into(),
            fix: None,
        }
    }

    /// What is said at each of these seconds; the logs have news in these.
    fn said(
        alarms: &[(Alarm, u64)],
        news: std::ops::Range<u64>,
        seconds: u64,
    ) -> Vec<Option<String>> {
        let mut running = Running::default();
        let at = |second: u64| {
            let at = At {
                now: Duration::from_secs(second),
                time: DAY + second,
                open: news
                    .contains(&second)
                    .then(|| Duration::from_secs(news.start)),
                looked: second >= 2,
            };
            let stand = alarms.iter().filter(|(alarm, until)| {
                let since = alarm.since.unwrap() - DAY;
                (since..*until).contains(&second)
            });
            let stand: Vec<_> = stand.map(|(alarm, _)| alarm.clone()).collect();
            running.take(at, &stand);
            running.now().map(|now| {
                let before = if now.or_before { " or before" } else { "" };
                format!("{}{before}: {}", now.since - DAY, now.trigger)
            })
        };
        (0..seconds).map(at).collect()
    }

    #[test]
    fn a_takeover_is_under_way_from_its_first_sign_until_it_is_kept() {
        let alarms = [
            (alarm(Sign::PoolNowhere, 100), 108),
            (alarm(Sign::HeadLost, 100), 104),
            (alarm(Sign::HeadAway, 103), 1000),
        ];
        let said = said(&alarms, 99..150, 400);
        let words = Some("100: head-lost".to_owned());
        for (second, said) in said.iter().enumerate() {
            // 5 s after it is kept it is in the list; that the head is away for long is no incident that goes on.
            let expected = (100..155)
                .contains(&second)
                .then(|| words.clone())
                .flatten();
            assert_eq!(*said, expected, "{second}");
        }
    }

    #[test]
    fn a_head_that_is_away_before_the_watch_began_or_without_news_begins_nothing() {
        for (since, news) in [(0, 0..35), (2, 0..35), (50, 200..240), (50, 0..35)] {
            let alarms = [(alarm(Sign::HeadAway, since), 1000)];
            let said = said(&alarms, news.clone(), 300);
            assert!(said.iter().all(Option::is_none), "{since} {news:?}");
        }
        // A link that is down is none either, whatever the logs say.
        let link = [(alarm(Sign::LinkDown, 50), 1000)];
        assert!(said(&link, 50..100, 120).iter().all(Option::is_none));
    }

    #[test]
    fn what_cannot_end_goes_on_and_one_that_was_there_first_may_be_older() {
        let alarms = [(alarm(Sign::HeadLost, 0), 900)];
        let said = said(&alarms, 0..35, 1000);
        assert_eq!(said[899].as_deref(), Some("0 or before: head-lost"));
        assert_eq!(said[950], None);
    }
}
