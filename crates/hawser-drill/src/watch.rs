//! The watch over "no pool is active on two heads": each head is looked at all the time, from outside where its site
//! can. What was seen is [`WatchRecord`].

use std::path::Path;
use std::sync::{Mutex, MutexGuard};
use std::thread::Scope;
use std::time::Duration;

use hawser_host::clock::Beside;
use hawser_host::site::{HostLook, Site, Watcher};
use hawser_host::{Clock, Reconnecting};
use hawser_model::drill::Moment;
use hawser_model::names::HostName;

use crate::by_agent::ByAgent;
use crate::context::Watched;
use crate::watch_record::WatchRecord;

/// From look to look, unless the [`DrillContext`](crate::context::DrillContext) says otherwise.
pub(crate) const EVERY: Duration = Duration::from_millis(50);

/// From one question to a BMC to the next, of a head that is off; from look to look at one on which nothing runs.
const ASKS: Duration = Duration::from_secs(1);

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
    /// From look to look.
    pub every: Duration,
}

/// Looks at the heads until the answer is dropped, each by a thread of its own: one that does not answer must not keep
/// others from being looked at.
pub fn watch<'scope>(
    scope: &'scope Scope<'scope, '_>,
    sight: Sight<'scope>,
    seen: &'scope Mutex<WatchRecord>,
) -> Vec<Beside> {
    let clock = sight.hosts.clock();
    let each = sight.heads.iter().map(|head| {
        let (clock, mut watcher) = (clock.clone(), None);
        let look = move || {
            let watcher = watcher.get_or_insert_with(|| watcher_of(sight, head));
            look_at(head, watcher.as_mut(), sight, &clock, seen)
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
    sight: Sight<'_>,
    clock: &Clock,
    seen: &Mutex<WatchRecord>,
) -> Duration {
    let round = clock.now();
    let begun = clock.time_of_day();
    let every = match watcher.look() {
        HostLook::Mounts {
            places,
            engine_since,
            nfs_grace,
        } => {
            if let Some(until) = engine_since {
                // It boots. Until its Pacemaker runs again it can have no pool.
                locked(seen).has_nothing_until(head, until);
            }
            let found = Some(there(&places, sight.watched));
            let ended = clock.time_of_day();
            note(seen, head, begun, ended, found);
            locked(seen).grace(head, begun, ended, nfs_grace);
            sight.every
        }
        // It was off at some moment of the look.
        HostLook::Off => {
            let now = clock.time_of_day();
            note(seen, head, now, now, None);
            locked(seen).grace(head, now, now, None);
            ASKS
        }
        HostLook::Still => {
            locked(seen).stands_still(head, begun);
            ASKS
        }
        HostLook::Unknown => {
            locked(seen).grace(head, begun, begun, None);
            sight.every
        }
    };
    every.saturating_sub(clock.since(round))
}

fn note(
    seen: &Mutex<WatchRecord>,
    head: &HostName,
    begun: Moment,
    ended: Moment,
    found: Option<Vec<String>>,
) {
    locked(seen).look(head, begun, ended, found);
}

fn locked(seen: &Mutex<WatchRecord>) -> MutexGuard<'_, WatchRecord> {
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

    #[test]
    fn a_pool_is_where_its_directory_is_mounted_upon() {
        let there = |places: [&str; 2]| there(&places.map(str::to_owned), &[pool()]);
        assert_eq!(there(["/srv", "/srv/p"]), ["p"]);
        assert!(there(["/srv/pp", "/mnt"]).is_empty());
    }
}
