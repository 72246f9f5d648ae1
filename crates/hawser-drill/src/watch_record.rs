//! What the watch has seen of each head: which pools it surely had, from when to when, and when it was not watched.
//!
//! A look reads what the kernel says of a head's own mount namespace. A pool that was found by two
//! looks in a row was there from the end of the first reading to the beginning of the second,
//! however long this process was kept from working in between: that is what a [`Hold`] says, so
//! two holds that overlap were surely active at one time.

use std::collections::BTreeMap;
use std::time::Duration;

use hawser_host::site::Site;
use hawser_model::drill::{GracePeriod, Hold, Moment, Watch, WatchGap};
use hawser_model::names::HostName;

/// How long a head may not be looked at, in seconds, before that counts as not watched, and why it was not.
#[derive(Clone, Copy, Debug)]
struct Limit {
    blind: f64,
    why: &'static str,
}

/// Where the heads are looked at from outside, nothing but a busy machine keeps this process from looking.
const FROM_OUTSIDE: Limit = Limit {
    blind: 2.0,
    why: "the watch was kept from working",
};

impl Limit {
    /// A head that falls silent is known to be off only when its BMC says so, which is asked once a look has failed. All of that
    /// may take so many times longer than elsewhere.
    fn over_a_network(slowness: u32) -> Self {
        Self {
            blind: 5.0 * f64::from(slowness),
            why: "it did not answer, and its BMC did not say that it was off",
        }
    }
}

/// What the watch has seen up to now.
#[derive(Debug)]
pub struct WatchRecord {
    limit: Limit,
    looks: u64,
    holds: Vec<Hold>,
    gaps: Vec<WatchGap>,
    last: BTreeMap<HostName, Moment>,
    graces: Vec<GracePeriod>,
    /// Which of them the last look at a head found.
    in_grace: BTreeMap<HostName, usize>,
}

impl WatchRecord {
    /// Nothing yet.
    pub fn of(site: &dyn Site, heads: &[HostName]) -> Self {
        let from_outside = heads.iter().all(|head| site.watcher(head).is_some());
        Self::within(match from_outside {
            true => FROM_OUTSIDE,
            false => Limit::over_a_network(site.slowness()),
        })
    }

    fn within(limit: Limit) -> Self {
        Self {
            limit,
            looks: 0,
            holds: Vec::new(),
            gaps: Vec::new(),
            last: BTreeMap::new(),
            graces: Vec::new(),
            in_grace: BTreeMap::new(),
        }
    }

    /// Whether every head has been looked at.
    pub fn all(&self, heads: &[HostName]) -> bool {
        heads.iter().all(|head| self.last.contains_key(head))
    }

    /// Whether a pool is on two heads, by their last looks.
    pub fn two_active(&self) -> bool {
        let here: Vec<&Hold> = self
            .holds
            .iter()
            .filter(|hold| self.is_here(hold))
            .collect();
        here.iter().enumerate().any(|(index, one)| {
            let mut others = here[index + 1..].iter();
            others.any(|other| {
                other.pool == one.pool && other.first.max(one.first) <= other.last.min(one.last)
            })
        })
    }

    fn is_here(&self, hold: &Hold) -> bool {
        hold.gone.is_none() && self.last.get(&hold.host) == Some(&hold.last)
    }

    /// The head that a pool is on now, when it is one.
    pub fn place_of(&self, pool: &str) -> Option<&HostName> {
        let here = |hold: &&Hold| hold.pool == pool && self.is_here(hold);
        let mut places = self.holds.iter().filter(here);
        let first = places.next();
        match places.next() {
            None => first.map(|hold| &hold.host),
            Some(_) => None,
        }
    }

    /// What was seen until then by looks that often, as it is recorded.
    pub fn record(mut self, end: Moment, every: Duration) -> Watch {
        for (head, last) in self.last.clone() {
            self.gap(&head, last, end);
        }
        Watch {
            every_us: u64::try_from(every.as_micros()).unwrap_or(u64::MAX),
            samples: self.looks,
            holds: self.holds,
            gaps: self.gaps,
            graces: self.graces,
            degraded: Vec::new(),
        }
    }

    /// A head that had no power is known to have had no pool until then.
    pub(crate) fn has_nothing_until(&mut self, head: &HostName, until: Moment) {
        let last = self.last.entry(head.clone()).or_insert(until);
        *last = until.max(*last);
    }

    /// A head on which nothing runs has what it had at the last look, if there was one.
    pub(crate) fn stands_still(&mut self, head: &HostName, at: Moment) {
        if self.last.contains_key(head) {
            let held = self
                .holds
                .iter()
                .filter(|it| it.host == *head && self.is_here(it));
            let held = held.map(|hold| hold.pool.clone()).collect();
            self.look(head, at, at, Some(held));
        }
    }

    fn gap(&mut self, head: &HostName, from: Moment, to: Moment) {
        if to.since(from) > self.limit.blind {
            self.gaps.push(WatchGap {
                host: head.clone(),
                from,
                to,
                why: self.limit.why.to_owned(),
            });
        }
    }

    /// Whether that look found its NFS server in a grace period; none: it did not see that.
    pub(crate) fn grace(
        &mut self,
        head: &HostName,
        begun: Moment,
        ended: Moment,
        lasts: Option<bool>,
    ) {
        let known = self.in_grace.remove(head);
        let at = match (lasts, known) {
            (Some(true), None) => {
                self.graces.push(GracePeriod {
                    host: head.clone(),
                    first: ended,
                    last: ended,
                    over: None,
                });
                self.graces.len() - 1
            }
            (Some(true), Some(at)) => {
                self.graces[at].last = begun;
                at
            }
            (Some(false), Some(at)) => {
                self.graces[at].over = Some(ended);
                return;
            }
            _ => return,
        };
        self.in_grace.insert(head.clone(), at);
    }

    /// A look at a head: the pools it had, absent when it has no power.
    pub(crate) fn look(
        &mut self,
        head: &HostName,
        begun: Moment,
        ended: Moment,
        found: Option<Vec<String>>,
    ) {
        self.looks += 1;
        let before = self.last.insert(head.clone(), begun);
        if let Some(before) = before {
            self.gap(head, before, begun);
        }
        // Holds that were there at the last look.
        let here = |hold: &&mut Hold| {
            hold.host == *head && hold.gone.is_none() && Some(hold.last) == before
        };
        let mut new: Vec<String> = found.clone().unwrap_or_default();
        for hold in self.holds.iter_mut().filter(here) {
            match new.iter().position(|pool| *pool == hold.pool) {
                Some(at) => {
                    new.remove(at);
                    hold.last = begun;
                }
                // Without power nothing is held, and nobody looked.
                None if found.is_some() => hold.gone = Some(ended),
                None => {}
            }
        }
        self.holds.extend(new.into_iter().map(|pool| Hold {
            pool,
            host: head.clone(),
            first: ended,
            last: begun,
            gone: None,
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::EVERY;

    fn seen() -> WatchRecord {
        WatchRecord::within(FROM_OUTSIDE)
    }

    fn look(seen: &mut WatchRecord, head: &str, begun: u64, found: Option<&[&str]>) {
        let found = found.map(|pools| pools.iter().map(|&pool| pool.to_owned()).collect());
        seen.look(&head.into(), Moment(begun), Moment(begun + 5), found);
    }

    #[test]
    fn a_hold_says_no_more_than_what_was_surely_there() {
        let mut seen = seen();
        look(&mut seen, "head1", 100, Some(&["p"]));
        look(&mut seen, "head2", 110, Some(&[]));
        look(&mut seen, "head1", 200, Some(&["p"]));
        assert_eq!(seen.place_of("p"), Some(&HostName::from("head1")));
        look(&mut seen, "head1", 300, Some(&[]));
        assert_eq!(seen.place_of("p"), None);
        look(&mut seen, "head2", 310, Some(&["p"]));
        assert_eq!(seen.place_of("p"), Some(&HostName::from("head2")));
        let watch = seen.record(Moment(320), EVERY);
        let first = &watch.holds[0];
        assert_eq!((first.first.0, first.last.0), (105, 200));
        assert_eq!(first.gone, Some(Moment(305)));
        assert_eq!((watch.samples, watch.holds.len()), (5, 2));
    }

    #[test]
    fn a_head_that_lost_its_power_holds_nothing_although_nobody_saw_it_let_go() {
        let mut seen = seen();
        look(&mut seen, "head1", 100, Some(&["p"]));
        look(&mut seen, "head1", 200, None);
        assert_eq!(seen.place_of("p"), None);
        look(&mut seen, "head1", 300, Some(&["p"]));
        look(&mut seen, "head1", 3_000_000, Some(&["p"]));
        let watch = seen.record(Moment(3_000_010), EVERY);
        assert_eq!(
            watch.holds.len(),
            2,
            "what it has after its boot is another hold"
        );
        assert_eq!(watch.holds[0].gone, None);
        assert_eq!(watch.gaps.len(), 1);
    }

    #[test]
    fn who_is_not_looked_at_until_the_end_was_not_watched() {
        let mut seen = seen();
        look(&mut seen, "head1", 100, Some(&["p"]));
        look(&mut seen, "head2", 100, Some(&[]));
        look(&mut seen, "head2", 5_000_000, Some(&["p"]));
        assert!(seen.all(&["head1".into(), "head2".into()]));
        assert!(!seen.two_active(), "head1 was not looked at since");
        let watch = seen.record(Moment(5_000_100), EVERY);
        let gaps: Vec<&str> = watch.gaps.iter().map(|gap| gap.host.as_str()).collect();
        assert_eq!(gaps, ["head2", "head1"]);
    }

    #[test]
    fn a_head_of_a_slow_site_may_be_silent_for_longer() {
        let gaps = |slowness, until| {
            let mut seen = WatchRecord::within(Limit::over_a_network(slowness));
            look(&mut seen, "head1", 0, Some(&["p"]));
            look(&mut seen, "head1", until, Some(&["p"]));
            seen.record(Moment(until + 10), EVERY).gaps.len()
        };
        assert_eq!((gaps(1, 4_900_000), gaps(1, 5_600_000)), (0, 1));
        assert_eq!((gaps(5, 24_000_000), gaps(5, 26_000_000)), (0, 1));
    }

    #[test]
    fn a_head_that_boots_is_not_watched_only_from_the_start_of_its_pacemaker() {
        let mut seen = seen();
        look(&mut seen, "head1", 100, Some(&["p"]));
        look(&mut seen, "head1", 200, None);
        seen.has_nothing_until(&"head1".into(), Moment(60_000_000));
        look(&mut seen, "head1", 61_000_000, Some(&[]));
        assert!(seen.gaps.is_empty());
        seen.has_nothing_until(&"head1".into(), Moment(62_000_000));
        look(&mut seen, "head1", 65_000_000, Some(&[]));
        assert_eq!(seen.gaps.len(), 1);
        assert_eq!(seen.record(Moment(65_000_000), EVERY).holds.len(), 1);
    }

    #[test]
    fn a_head_on_which_nothing_runs_keeps_its_pool_and_is_not_unwatched() {
        let mut seen = WatchRecord::within(Limit::over_a_network(1));
        let head1 = HostName::from("head1");
        seen.stands_still(&head1, Moment(50));
        assert!(
            !seen.all(std::slice::from_ref(&head1)),
            "it was never looked at"
        );
        look(&mut seen, "head1", 100, Some(&["p"]));
        for second in 1..60 {
            seen.stands_still(&head1, Moment(second * 1_000_000));
        }
        assert_eq!(seen.place_of("p"), Some(&head1));
        look(&mut seen, "head2", 59_000_100, Some(&["p"]));
        look(&mut seen, "head2", 59_500_000, Some(&["p"]));
        seen.stands_still(&head1, Moment(60_000_000));
        assert!(
            seen.two_active(),
            "whoever has taken the pool has it too early"
        );
        // Off at last, and nobody saw it let go.
        look(&mut seen, "head1", 60_500_000, None);
        seen.stands_still(&head1, Moment(61_000_000));
        assert_eq!(seen.place_of("p"), Some(&"head2".into()));
        let watch = seen.record(Moment(61_000_000), EVERY);
        assert_eq!((watch.holds.len(), watch.gaps.len()), (2, 0), "{watch:?}");
        assert_eq!(watch.holds[0].last, Moment(60_000_000));
    }

    #[test]
    fn a_grace_period_ends_with_the_look_that_found_it_over() {
        let mut seen = seen();
        let found = [
            Some(true),
            Some(true),
            Some(true),
            Some(false),
            Some(true),
            None,
            Some(true),
        ];
        for (nth, lasts) in found.into_iter().enumerate() {
            let begun = Moment(nth as u64 * 100);
            seen.grace(&"head1".into(), begun, begun.shifted(5), lasts);
        }
        seen.grace(&"head2".into(), Moment(0), Moment(5), Some(false));
        let graces = seen.record(Moment(700), EVERY).graces;
        let graces: Vec<_> = graces
            .iter()
            .map(|it| (it.first.0, it.last.0, it.over.map(|over| over.0)))
            .collect();
        assert_eq!(
            graces,
            [(5, 200, Some(305)), (405, 405, None), (605, 605, None)]
        );
    }

    #[test]
    fn two_heads_are_seen_while_it_happens() {
        let mut seen = seen();
        for at in [100, 200] {
            look(&mut seen, "head1", at, Some(&["p"]));
            look(&mut seen, "head2", at + 10, Some(&["p"]));
        }
        assert!(seen.two_active());
        look(&mut seen, "head1", 300, Some(&[]));
        assert!(!seen.two_active());
    }
}
