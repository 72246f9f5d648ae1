//! Has Corosync tell at once that it has lost pings of its links: `corosync-cmapctl -m stats -t`, which is left running.
//!
//! It tells when the statistics are worth reading, and nothing is judged by it. Statistics cannot be followed by a part of
//! their names (`stats_map_track_add`), so those of each link are named.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::pings::Pings;
use crate::host::follower::Follower;

/// One that ended, or cannot be started, is started again after so long.
const AGAIN: Duration = Duration::from_secs(60);

/// Its standard output is a pipe, which it would fill before it writes.
const WORDS: [&str; 6] = ["stdbuf", "-oL", "corosync-cmapctl", "-m", "stats", "-t"];

/// Follows the pings of the links that the statistics had last.
#[derive(Debug, Default)]
pub struct LostPings {
    corosync: Option<u32>,
    /// What is to be followed.
    wanted: Pings,
    /// What is followed, and since when.
    followed: Option<(Pings, Instant)>,
    follower: Option<Follower>,
    told: Arc<AtomicU64>,
}

impl LostPings {
    /// Takes the statistics of Corosync, which say what links there are.
    pub fn links(&mut self, stats: &BTreeMap<String, String>) {
        self.wanted = Pings::of(stats);
    }

    /// How many times pings were newly lost; another number than before says that there is news. They are those of the Corosync
    /// that is this process, from the first time on that it is named here after its links are known.
    pub fn count(&mut self, corosync: Option<u32>) -> u64 {
        if corosync != self.corosync {
            // The links of another process may be others.
            *self = Self {
                corosync,
                told: self.told.clone(),
                ..Self::default()
            };
        }
        if corosync.is_some() && self.is_due() {
            self.start();
        }
        self.told.load(Ordering::Relaxed)
    }

    fn is_due(&self) -> bool {
        let Some((followed, since)) = &self.followed else {
            return self.wanted != Pings::default();
        };
        let ended = self.follower.as_ref().is_none_or(Follower::has_ended);
        let others = !followed.links().eq(self.wanted.links());
        others || ended && since.elapsed() >= AGAIN
    }

    fn start(&mut self) {
        // The one before ends first: it counts no more.
        self.follower = None;
        let mut pings = self.wanted.clone();
        self.followed = Some((pings.clone(), Instant::now()));
        if pings.links().next().is_none() {
            return;
        }
        let keys: Vec<String> = pings.keys().collect();
        let words = WORDS.into_iter().chain(keys.iter().map(String::as_str));
        let told = self.told.clone();
        let take = move |line: &str| {
            if pings.told(line) {
                told.fetch_add(1, Ordering::Relaxed);
            }
        };
        self.follower = Follower::start("lost pings", words, take);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_corosync_and_without_links_nothing_is_started() {
        let mut lost = LostPings::default();
        lost.links(&BTreeMap::from([(
            "stats.srp.mtt_rx_token".to_owned(),
            "117".to_owned(),
        )]));
        assert_eq!((lost.count(None), lost.count(Some(7))), (0, 0));
        lost.links(&BTreeMap::from([(
            "stats.srp.mtt_rx_token".to_owned(),
            "118".to_owned(),
        )]));
        assert_eq!(lost.count(Some(7)), 0);
        assert!(lost.follower.is_none());
    }
}
