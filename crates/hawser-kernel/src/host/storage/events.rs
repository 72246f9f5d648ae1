//! What the ZFS module tells of its pools at the moment in which it happens: `zpool events -f`, which is left running. It tells
//! when `zpool status` is worth asking, and nothing is judged by its words.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use hawser_tool::{Launch, TIED};

/// One that ended, or cannot be started, is started again after so long.
const AGAIN: Duration = Duration::from_secs(60);

/// No event has a longer line; what is longer is no event.
const LINE: usize = 4096;

/// Follows the events of all pools.
#[derive(Debug, Default)]
pub(super) struct Events {
    follower: Option<Follower>,
    started: Option<Instant>,
}

#[derive(Debug)]
struct Follower {
    child: Child,
    _input: ChildStdin,
    told: Arc<AtomicU64>,
    reads: JoinHandle<()>,
}

impl Events {
    /// How many there were that may have changed how well a pool is; another number than before says that there is news. Follows them from the first time on that there are
    /// pools, and no longer when there are none: the module may be removed then.
    pub(super) fn count(&mut self, there_are_pools: bool) -> u64 {
        let ended = |it: &Follower| it.reads.is_finished();
        if !there_are_pools || self.follower.as_ref().is_some_and(ended) {
            self.follower = None;
        }
        let rested = self.started.is_none_or(|at| at.elapsed() >= AGAIN);
        if there_are_pools && self.follower.is_none() && rested {
            self.started = Some(Instant::now());
            self.follower = Follower::start();
        }
        self.so_far()
    }

    /// The same, by whoever follows them already.
    pub(super) fn so_far(&self) -> u64 {
        let told = self.follower.as_ref();
        told.map_or(0, |it| it.told.load(Ordering::Relaxed))
    }
}

impl Follower {
    fn start() -> Option<Self> {
        let [program, options @ ..] = TIED;
        let launch = Launch::new(program).args(options);
        let launch = launch.args(["zpool", "events", "-H", "-f"]);
        let piped = launch.log(std::fs::File::create("/dev/null").ok()?).piped();
        let piped = piped.ok()?;
        let told = Arc::new(AtomicU64::new(0));
        let counts = told.clone();
        let output = BufReader::new(piped.output);
        let reads = thread::Builder::new().name("zpool events".into());
        let reads = reads.spawn(move || count(output, &counts)).ok()?;
        Some(Self {
            child: piped.child,
            _input: piped.input,
            told,
            reads,
        })
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        // One that has ended already is merely waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn count(mut lines: impl BufRead, told: &AtomicU64) {
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut most = std::io::Read::take(&mut lines, LINE as u64);
        match most.read_until(b'\n', &mut line) {
            Ok(1..) => {}
            Ok(0) | Err(_) => return,
        }
        if matters(&String::from_utf8_lossy(&line)) {
            told.fetch_add(1, Ordering::Relaxed);
        }
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
        count(SAID.as_bytes(), &told);
        assert_eq!(told.into_inner(), 4);
        // What has no end is no event, and ends.
        let told = AtomicU64::new(0);
        count(&vec![b'x'; 3 * LINE][..], &told);
        assert_eq!(told.into_inner(), 0);
    }

    #[test]
    fn without_pools_nothing_is_started() {
        let mut events = Events::default();
        assert_eq!(events.count(false), 0);
        assert!(events.started.is_none());
    }
}
