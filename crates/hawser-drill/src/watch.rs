//! The watch over "no pool is active on two heads": from outside every node of a lab, by an agent on each real
//! head, all the time.
//!
//! A look reads what the kernel says of a head's own mount namespace. A pool that was found by two
//! looks in a row was there from the end of the first reading to the beginning of the second,
//! however long this process was kept from working in between: that is what a [`Hold`] says, so
//! two holds that overlap were surely active at one time.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use hawser_cluster::host::drill::Look;
use hawser_cluster::host::{Answer, DrillAnswer, DrillOrder, Order};
use hawser_cluster::live::Head;
use hawser_lab::Lab;
use hawser_model::drill::{Hold, Moment, Watch, WatchGap};
use hawser_model::names::HostName;

use crate::ground::{Ground, RealHeads};
use crate::stage::{Watched, now};

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

/// In a lab nothing but a busy machine keeps this process from looking.
const IN_A_LAB: Limit = Limit {
    blind: 2.0,
    why: "the watch was kept from working",
};

/// A head that falls silent is known to be off only when its BMC says so, which is asked once a look has failed.
const OVER_A_NETWORK: Limit = Limit {
    blind: 5.0,
    why: "it did not answer, and its BMC did not say that it was off",
};

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
    pub fn on(ground: &Ground<'_>) -> Self {
        Self {
            limit: match ground {
                Ground::Lab(_) => IN_A_LAB,
                Ground::Heads(_) => OVER_A_NETWORK,
            },
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

/// Looks at the heads until it is told to stop.
pub fn watch(
    ground: &Ground<'_>,
    heads: &[HostName],
    watched: &[Watched],
    stop: &AtomicBool,
    seen: &Mutex<Seen>,
) {
    match ground {
        Ground::Lab(lab) => watch_lab(lab.as_str(), heads, watched, stop, seen),
        // Each by a thread of its own: one that does not answer must not keep others from being looked at.
        Ground::Heads(real) => thread::scope(|scope| {
            for head in heads {
                scope.spawn(move || watch_head(real, head, watched, stop, seen));
            }
        }),
    }
}

fn watch_lab(
    lab: &str,
    heads: &[HostName],
    watched: &[Watched],
    stop: &AtomicBool,
    seen: &Mutex<Seen>,
) {
    let mut processes: BTreeMap<&HostName, i32> = BTreeMap::new();
    while !stop.load(Ordering::Relaxed) {
        let round = Instant::now();
        for head in heads {
            let begun = now();
            let found = look(lab, head, watched, &mut processes);
            note(seen, head, begun, now(), found);
        }
        thread::sleep(EVERY.saturating_sub(round.elapsed()));
    }
}

/// A real head is looked at by an agent of its own. While that does not answer, its BMC is asked.
fn watch_head(
    real: &RealHeads<'_>,
    head: &HostName,
    watched: &[Watched],
    stop: &AtomicBool,
    seen: &Mutex<Seen>,
) {
    let mut eyes = real.remote.eyes(head).ok();
    let mut was_off = false;
    while !stop.load(Ordering::Relaxed) {
        let round = Instant::now();
        let begun = now();
        let looked = eyes
            .as_mut()
            .map(|agent| look_there(agent.as_mut(), was_off));
        match looked {
            Some(Some(found)) => {
                if was_off {
                    // It boots. Until its Pacemaker runs again it can have no pool.
                    let age = found.engine_us.unwrap_or(0);
                    let until = Moment(begun.0.saturating_sub(age));
                    locked(seen).has_nothing_until(head, until);
                }
                was_off = false;
                let pools = there(&found.mounts, watched);
                note(seen, head, begun, now(), Some(pools));
                thread::sleep(EVERY.saturating_sub(round.elapsed()));
            }
            Some(None) => eyes = None,
            None => match real.power(head, None) {
                Ok(false) => {
                    // It was off at some moment of the question.
                    note(seen, head, now(), now(), None);
                    was_off = true;
                    thread::sleep(ASKS.saturating_sub(round.elapsed()));
                }
                Ok(true) | Err(_) => eyes = real.remote.eyes(head).ok(),
            },
        }
    }
}

fn look_there(agent: &mut dyn Head, engine: bool) -> Option<Look> {
    match agent.order(&Order::Drill(DrillOrder::Look { engine })) {
        Ok(Answer::Drill(DrillAnswer::Look(look))) => Some(look),
        _ => None,
    }
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

/// The pools that a head has now; `None`: it has no power.
fn look<'h>(
    lab: &str,
    head: &'h HostName,
    watched: &[Watched],
    processes: &mut BTreeMap<&'h HostName, i32>,
) -> Option<Vec<String>> {
    if let Some(process) = processes.get(head) {
        if let Some(mounts) = mounts(*process) {
            return Some(mounted(&mounts, watched));
        }
        processes.remove(head);
    }
    // It is off, or on again as another process.
    let process = Lab::open(lab)
        .and_then(|lab| lab.process(head.as_str()))
        .ok()?;
    let mounts = mounts(process)?;
    processes.insert(head, process);
    Some(mounted(&mounts, watched))
}

fn mounts(process: i32) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{process}/mounts")).ok()?;
    // Of a dead process it is empty.
    Some(text).filter(|text| !text.is_empty())
}

/// The pools whose directory something is mounted on.
fn mounted(mounts: &str, watched: &[Watched]) -> Vec<String> {
    let places = mounts.lines().filter_map(|line| line.split(' ').nth(1));
    there(&places.map(str::to_owned).collect::<Vec<_>>(), watched)
}

fn there(places: &[String], watched: &[Watched]) -> Vec<String> {
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
        Seen::on(&Ground::Lab(hawser_lab::LabName::new("t").unwrap()))
    }

    fn look(seen: &mut Seen, head: &str, begun: u64, found: Option<&[&str]>) {
        let found = found.map(|pools| pools.iter().map(|&pool| pool.to_owned()).collect());
        seen.look(&head.into(), Moment(begun), Moment(begun + 5), found);
    }

    #[test]
    fn a_pool_is_where_its_directory_is_mounted_upon() {
        let there = |mounts: &str| mounted(mounts, &[pool()]);
        assert_eq!(
            there("tmpfs /srv tmpfs rw 0 0\n/dev/loop3 /srv/p ext4 rw 0 0\n"),
            ["p"]
        );
        assert!(there("/dev/loop3 /srv/pp ext4 rw 0 0\n/srv/p /mnt ext4 rw 0 0\n").is_empty());
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
