//! What the heartbeat links and the processors were like before the fault: what a token has to
//! survive.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use hawser_cluster::numbering::Numbering;
use hawser_host::Clock;
use hawser_model::cluster_file::ClusterFile;
use hawser_model::cmap;
use hawser_model::drill::{LinkMeasured, PauseFacts};
use hawser_model::names::LinkName;
use hawser_model::units::{Nanos, Packets};

/// From one wake-up to the next.
const STEP: Duration = Duration::from_millis(5);

/// Corosync's own measurement of its links: kronosnet's pings, as `corosync-cmapctl -m stats` of one
/// head or several prints them. The worst counts. `map` is what it says of its nodes.
pub(crate) fn links(
    file: &ClusterFile,
    map: &str,
    stats: &str,
) -> BTreeMap<LinkName, LinkMeasured> {
    let map = cmap::chosen(map, |_| true);
    let mut all = BTreeMap::new();
    for (name, number) in Numbering::listed(file, &map).links {
        let mut link = LinkMeasured::default();
        let mark = format!(".link{number}.");
        for (key, value) in cmap::entries(stats) {
            let of_link = key.split_once(&mark);
            let of_link = of_link.filter(|_| key.starts_with("stats.knet.node"));
            let (Some((_, what)), Ok(value)) = (of_link, value.parse()) else {
                continue;
            };
            match what {
                "latency_samples" => link.sent += Packets(value),
                // kronosnet counts microseconds, and has a running mean where a median would do.
                "latency_ave" => link.median = link.median.max(Nanos(value * 1000)),
                "latency_max" => link.longest = link.longest.max(Nanos(value * 1000)),
                _ => {}
            }
        }
        if link.sent.0 > 0 {
            all.insert(name, link);
        }
    }
    all
}

/// A thread that wants to wake up every few milliseconds and writes down how late it was at worst.
///
/// It has no real-time priority, as Corosync has: it stands still at least as long as Corosync.
pub(crate) struct Pauses {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<PauseFacts>,
}

impl Pauses {
    /// Begins.
    pub(crate) fn watch() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let told = stop.clone();
        let clock = Clock::default();
        let begun = clock.now();
        let thread = thread::spawn(move || {
            let mut longest = Duration::ZERO;
            while !told.load(Ordering::Relaxed) {
                let before = clock.now();
                clock.sleep(STEP);
                longest = longest.max(clock.since(before).saturating_sub(STEP));
            }
            PauseFacts {
                watched: nanos(clock.since(begun)),
                longest: nanos(longest),
            }
        });
        Self { stop, thread }
    }

    /// Ends it.
    pub(crate) fn end(self) -> Option<PauseFacts> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().ok()
    }
}

fn nanos(time: Duration) -> Nanos {
    Nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_of_all_heads_counts() {
        let text = include_str!("../../../examples/lab/hawser.toml");
        let file = hawser_model::cluster_file::parse_complete(text, "hawser.toml").unwrap();
        let stats = "stats.knet.node1.link0.latency_ave (u32) = 407\n\
                     stats.knet.node1.link0.latency_max (u32) = 443\n\
                     stats.knet.node1.link0.latency_samples (u32) = 99\n\
                     stats.knet.node2.link0.latency_max (u32) = 1200\n\
                     stats.knet.node2.link0.latency_samples (u32) = 1\n\
                     stats.knet.node2.link1.latency_samples (u32) = 0\n\
                     stats.srp.mtt_rx_token (u32) = 37\n";
        let links = links(&file, "", stats);
        let ring0 = links["ring0"];
        assert_eq!(
            (ring0.sent, ring0.longest),
            (Packets(100), Nanos(1_200_000))
        );
        assert_eq!(ring0.median, Nanos(407_000));
        assert!(!links.contains_key("ring1"));
    }

    #[test]
    fn a_pause_is_watched_as_long_as_it_is_wanted() {
        let pauses = Pauses::watch();
        Clock::default().sleep(Duration::from_millis(30));
        let facts = pauses.end().expect("no panic");
        assert!(facts.watched >= Nanos::from_millis(30), "{facts:?}");
    }
}
