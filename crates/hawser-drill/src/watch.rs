//! The watch over "no pool is active on two heads": each head is looked at all the time, from outside where its site
//! can.
//!
//! A look reads what the kernel says of a head's own mount namespace. A pool that was found by two
//! looks in a row was there from the end of the first reading to the beginning of the second,
//! however long this process was kept from working in between: that is what a [`Hold`] says, so
//! two holds that overlap were surely active at one time.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard};
use std::thread::Scope;
use std::time::Duration;

use hawser_host::clock::Beside;
use hawser_host::site::{Seen as Look, Site, Watcher};
use hawser_host::{Clock, Reconnecting};
use hawser_model::drill::{Hold, Moment, Watch, WatchGap};
use hawser_model::names::HostName;

use crate::by_agent::ByAgent;
use crate::stage::Watched;

/// From look to look.
const EVERY: Duration = Duration::from_millis(50);

/// From one question to a BMC to the next, of a head that is off.
const ASKS: Duration = Duration::from_secs(1);

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
pub struct Seen {
    limit: Limit,
    looks: u64,
    holds: Vec<Hold>,
    gaps: Vec<WatchGap>,
    last: BTreeMap<HostName, Moment>,
}

impl Seen {
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

    /// What was seen until then, as it is recorded.
    pub fn record(mut self, end: Moment) -> Watch {
        for (head, last) in self.last.clone() {
            self.gap(&head, last, end);
        }
        Watch {
            every_us: u64::try_from(EVERY.as_micros()).unwrap_or(u64::MAX),
            samples: self.looks,
            holds: self.holds,
            gaps: self.gaps,
            degraded: Vec::new(),
        }
    }

    /// A head that had no power is known to have had no pool until then.
    fn has_nothing_until(&mut self, head: &HostName, until: Moment) {
        let last = self.last.entry(head.clone()).or_insert(until);
        *last = until.max(*last);
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

    /// A look at a head: the pools it had, absent when it has no power.
    fn look(&mut self, head: &HostName, begun: Moment, ended: Moment, found: Option<Vec<String>>) {
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

/// Whom is looked at, and how.
#[derive(Clone, Copy)]
pub struct Sight<'a> {
    /// The way to the heads, for those that nobody can look at from outside.
    pub hosts: &'a Reconnecting<'a>,
    /// What surrounds them.
    pub site: &'a dyn Site,
    /// The heads.
    pub heads: &'a [HostName],
    /// The pools.
    pub watched: &'a [Watched],
}

/// Looks at the heads until the answer is dropped, each by a thread of its own: one that does not answer must not keep
/// others from being looked at.
pub fn watch<'scope>(
    scope: &'scope Scope<'scope, '_>,
    sight: Sight<'scope>,
    seen: &'scope Mutex<Seen>,
) -> Vec<Beside> {
    let clock = sight.hosts.clock();
    let each = sight.heads.iter().map(|head| {
        let (clock, mut watcher) = (clock.clone(), None);
        let look = move || {
            let watcher = watcher.get_or_insert_with(|| watcher_of(sight, head));
            look_at(head, watcher.as_mut(), sight.watched, &clock, seen)
        };
        sight.hosts.clock().beside(scope, look)
    });
    each.collect()
}

fn watcher_of<'a>(sight: Sight<'a>, head: &'a HostName) -> Box<dyn Watcher + 'a> {
    let Sight {
        hosts,
        site,
        watched,
        ..
    } = sight;
    let from_outside = site.watcher(head);
    from_outside.unwrap_or_else(|| Box::new(ByAgent::of(hosts, site, watched, head)))
}

/// One look, and how long to wait until the next.
fn look_at(
    head: &HostName,
    watcher: &mut dyn Watcher,
    watched: &[Watched],
    clock: &Clock,
    seen: &Mutex<Seen>,
) -> Duration {
    let round = clock.now();
    let begun = clock.time_of_day();
    let every = match watcher.look() {
        Look::Mounts {
            places,
            engine_since,
        } => {
            if let Some(until) = engine_since {
                // It boots. Until its Pacemaker runs again it can have no pool.
                locked(seen).has_nothing_until(head, until);
            }
            let found = Some(there(&places, watched));
            note(seen, head, begun, clock.time_of_day(), found);
            EVERY
        }
        // It was off at some moment of the look.
        Look::Off => {
            let now = clock.time_of_day();
            note(seen, head, now, now, None);
            ASKS
        }
        Look::Unknown => EVERY,
    };
    every.saturating_sub(clock.since(round))
}

fn note(
    seen: &Mutex<Seen>,
    head: &HostName,
    begun: Moment,
    ended: Moment,
    found: Option<Vec<String>>,
) {
    locked(seen).look(head, begun, ended, found);
}

fn locked(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(|e| e.into_inner())
}

/// The pools whose directory something is mounted on.
pub(crate) fn there(places: &[String], watched: &[Watched]) -> Vec<String> {
    let is_there = |pool: &&Watched| places.iter().any(|it| Path::new(it) == pool.directory);
    let there = watched.iter().filter(is_there);
    there.map(|pool| pool.pool.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool() -> Watched {
        Watched {
            pool: "p".into(),
            directory: "/srv/p".into(),
        }
    }

    fn seen() -> Seen {
        Seen::within(FROM_OUTSIDE)
    }

    fn look(seen: &mut Seen, head: &str, begun: u64, found: Option<&[&str]>) {
        let found = found.map(|pools| pools.iter().map(|&pool| pool.to_owned()).collect());
        seen.look(&head.into(), Moment(begun), Moment(begun + 5), found);
    }

    #[test]
    fn a_pool_is_where_its_directory_is_mounted_upon() {
        let there = |places: [&str; 2]| there(&places.map(str::to_owned), &[pool()]);
        assert_eq!(there(["/srv", "/srv/p"]), ["p"]);
        assert!(there(["/srv/pp", "/mnt"]).is_empty());
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
        let watch = seen.record(Moment(320));
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
        let watch = seen.record(Moment(3_000_010));
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
        let watch = seen.record(Moment(5_000_100));
        let gaps: Vec<&str> = watch.gaps.iter().map(|gap| gap.host.as_str()).collect();
        assert_eq!(gaps, ["head2", "head1"]);
    }

    #[test]
    fn a_head_of_a_slow_site_may_be_silent_for_longer() {
        let gaps = |slowness, until| {
            let mut seen = Seen::within(Limit::over_a_network(slowness));
            look(&mut seen, "head1", 0, Some(&["p"]));
            look(&mut seen, "head1", until, Some(&["p"]));
            seen.record(Moment(until + 10)).gaps.len()
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
        assert_eq!(seen.record(Moment(65_000_000)).holds.len(), 1);
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
