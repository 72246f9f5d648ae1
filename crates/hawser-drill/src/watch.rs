//! The watch over "no pool is active on two heads": from outside every node, all the time.
//!
//! A look reads what the kernel says of a head's own mount namespace. A pool that was found by two
//! looks in a row was there from the end of the first reading to the beginning of the second,
//! however long this process was kept from working in between: that is what a [`Hold`] says, so
//! two holds that overlap were surely active at one time.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hawser_lab::Lab;
use hawser_model::drill::{Hold, Moment, Watch, WatchGap};
use hawser_model::names::HostName;

use crate::stage::{Watched, now};

/// From look to look.
const EVERY: Duration = Duration::from_millis(50);

/// A watch that was kept from looking for so long says so.
const BLIND: f64 = 2.0;

/// What the watch has seen up to now.
#[derive(Debug, Default)]
pub struct Seen {
    looks: u64,
    holds: Vec<Hold>,
    gaps: Vec<WatchGap>,
    last: BTreeMap<HostName, Moment>,
}

impl Seen {
    /// The head that a pool is on now, when it is one.
    pub fn place_of(&self, pool: &str) -> Option<&HostName> {
        let mut places = self.holds.iter().filter(|hold| {
            let looked = self.last.get(&hold.host);
            hold.pool == pool && hold.gone.is_none() && looked == Some(&hold.last)
        });
        let first = places.next();
        match places.next() {
            None => first.map(|hold| &hold.host),
            Some(_) => None,
        }
    }

    /// What was seen, as it is recorded.
    pub fn record(self) -> Watch {
        Watch {
            every_us: u64::try_from(EVERY.as_micros()).unwrap_or(u64::MAX),
            samples: self.looks,
            holds: self.holds,
            gaps: self.gaps,
            degraded: Vec::new(),
        }
    }

    /// A look at a head: the pools it had, absent when it has no power.
    fn look(&mut self, head: &HostName, begun: Moment, ended: Moment, found: Option<Vec<String>>) {
        self.looks += 1;
        let before = self.last.insert(head.clone(), begun);
        if let Some(before) = before.filter(|before| begun.since(*before) > BLIND) {
            self.gaps.push(WatchGap {
                host: head.clone(),
                from: before,
                to: begun,
                why: "the watch was kept from working".to_owned(),
            });
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
            let ended = now();
            let mut seen = seen.lock().unwrap_or_else(|e| e.into_inner());
            seen.look(head, begun, ended, found);
        }
        std::thread::sleep(EVERY.saturating_sub(round.elapsed()));
    }
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
    let is_mounted = |pool: &&Watched| {
        let mut places = mounts.lines().filter_map(|line| line.split(' ').nth(1));
        places.any(|place| Path::new(place) == pool.directory)
    };
    let there = watched.iter().filter(is_mounted);
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
        let mut seen = Seen::default();
        look(&mut seen, "head1", 100, Some(&["p"]));
        look(&mut seen, "head2", 110, Some(&[]));
        look(&mut seen, "head1", 200, Some(&["p"]));
        assert_eq!(seen.place_of("p"), Some(&HostName::from("head1")));
        look(&mut seen, "head1", 300, Some(&[]));
        assert_eq!(seen.place_of("p"), None);
        look(&mut seen, "head2", 310, Some(&["p"]));
        assert_eq!(seen.place_of("p"), Some(&HostName::from("head2")));
        let watch = seen.record();
        let first = &watch.holds[0];
        assert_eq!((first.first.0, first.last.0), (105, 200));
        assert_eq!(first.gone, Some(Moment(305)));
        assert_eq!((watch.samples, watch.holds.len()), (5, 2));
    }

    #[test]
    fn a_head_that_lost_its_power_holds_nothing_although_nobody_saw_it_let_go() {
        let mut seen = Seen::default();
        look(&mut seen, "head1", 100, Some(&["p"]));
        look(&mut seen, "head1", 200, None);
        assert_eq!(seen.place_of("p"), None);
        look(&mut seen, "head1", 300, Some(&["p"]));
        look(&mut seen, "head1", 3_000_000, Some(&["p"]));
        let watch = seen.record();
        assert_eq!(
            watch.holds.len(),
            2,
            "what it has after its boot is another hold"
        );
        assert_eq!(watch.holds[0].gone, None);
        assert_eq!(watch.gaps.len(), 1);
    }
}
