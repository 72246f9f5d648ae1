//! What the ZFS module tells of its pools at the moment in which it happens: `zpool events -f`, which is left running. It tells
//! when `zpool status` is worth asking, and nothing is judged by its words.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::host::follower::Follower;

/// One that ended, or cannot be started, is started again after so long.
const AGAIN: Duration = Duration::from_secs(60);

/// Follows the events of all pools.
#[derive(Debug, Default)]
pub(super) struct Events {
    follower: Option<Follower>,
    /// How many the one that follows has told.
    told: Arc<AtomicU64>,
    started: Option<Instant>,
}

impl Events {
    /// How many there were that may have changed how well a pool is; another number than before says that there is news. Follows them from the first time on that there are
    /// pools, and no longer when there are none: the module may be removed then.
    pub(super) fn count(&mut self, there_are_pools: bool) -> u64 {
        let ended = self.follower.as_ref().is_some_and(Follower::has_ended);
        if !there_are_pools || ended {
            self.follower = None;
            self.told = Arc::default();
        }
        let rested = self.started.is_none_or(|at| at.elapsed() >= AGAIN);
        if there_are_pools && self.follower.is_none() && rested {
            self.started = Some(Instant::now());
            let told = self.told.clone();
            let words = ["zpool", "events", "-H", "-f"];
            self.follower = Follower::start(words[0], words, move |line| count(line, &told));
        }
        self.so_far()
    }

    /// The same, by whoever follows them already.
    pub(super) fn so_far(&self) -> u64 {
        self.told.load(Ordering::Relaxed)
    }
}

fn count(line: &str, told: &AtomicU64) {
    if matters(line) {
        told.fetch_add(1, Ordering::Relaxed);
    }
}

/// Whether an event says that a device fails, is slow or is another one, or that a resilver begins or ends. Each command of an
/// administrator makes others (zpool-events(8)).
fn matters(line: &str) -> bool {
    let class = line.split_whitespace().last().unwrap_or_default();
    let change = ["resilver", "statechange", ".removed", "vdev_", "dropped"];
    class.starts_with("ereport.fs.zfs.")
        || line.starts_with("dropped ")
        || change.iter().any(|word| class.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::follower::each_line;

    /// OpenZFS 2.3.2, `zpool events -H`.
    const SAID: &str = "Nov 27 2026 03:10:04.712345678\tsysevent.fs.zfs.history_event
Nov 27 2026 03:10:04.812345678\tsysevent.fs.zfs.config_sync
Nov 27 2026 03:11:00.000000001\tereport.fs.zfs.delay
Nov 27 2026 03:11:09.000000001\tresource.fs.zfs.statechange
Nov 27 2026 03:11:10.000000001\tsysevent.fs.zfs.resilver_start
Nov 27 2026 03:11:11.000000001\tsysevent.fs.zfs.pool_import
dropped 3 events
";

    #[test]
    fn events_count_that_tell_of_a_device_and_not_those_of_commands() {
        let told = AtomicU64::new(0);
        each_line(SAID.as_bytes(), |line| count(line, &told));
        assert_eq!(told.into_inner(), 4);
    }

    #[test]
    fn without_pools_nothing_is_started() {
        let mut events = Events::default();
        assert_eq!(events.count(false), 0);
        assert!(events.started.is_none());
    }
}
