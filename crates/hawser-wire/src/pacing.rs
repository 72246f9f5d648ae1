//! When the next burst is due, so that the rate is kept and lateness never becomes a flood.
//!
//! Bursts are due on a fixed schedule. A sender that wakes late sends the burst that is due
//! and then catches up at no more than twice the rate: two bursts are never closer than half
//! the interval. What it is behind by more than one interval (or ten milliseconds, where the
//! interval is shorter) is given up, and shows in the rate achieved.

use hawser_model::units::{Nanos, PacketsPerSec};

/// Lateness that is always caught up: a few time slices of a busy host's scheduler.
const TOLERATED: Nanos = Nanos::from_millis(10);

/// The schedule of one flow.
#[derive(Clone, Debug)]
pub struct Pacer {
    rate: u64,
    burst: u64,
    /// When burst 0 was due, moved by what was given up.
    anchor: u64,
    bursts: u64,
    last: Option<u64>,
}

impl Pacer {
    /// Bursts of `burst` packets, `rate` packets a second on average, the first at `start`.
    /// Zero of either counts as one.
    pub fn new(rate: PacketsPerSec, burst: u32, start: Nanos) -> Self {
        Self {
            rate: rate.0.max(1),
            burst: u64::from(burst.max(1)),
            anchor: start.0,
            bursts: 0,
            last: None,
        }
    }

    /// Packets of one burst.
    pub fn burst(&self) -> u64 {
        self.burst
    }

    /// Time from one burst to the next.
    pub fn interval(&self) -> Nanos {
        Nanos(self.after(1))
    }

    /// When the next burst is due.
    pub fn due(&self) -> Nanos {
        let scheduled = self.scheduled();
        let apart = self.last.map_or(0, |last| last + self.after(1) / 2);
        Nanos(scheduled.max(apart))
    }

    /// The burst that was due is sent at `now`.
    pub fn sent(&mut self, now: Nanos) {
        let tolerated = self.after(1).max(TOLERATED.0);
        let late = now.0.saturating_sub(self.scheduled());
        self.anchor += late.saturating_sub(tolerated);
        self.bursts += 1;
        self.last = Some(now.0);
    }

    fn scheduled(&self) -> u64 {
        self.anchor + self.after(self.bursts)
    }

    /// Time that `bursts` bursts take at the rate.
    fn after(&self, bursts: u64) -> u64 {
        let packets = u128::from(bursts) * u128::from(self.burst);
        (packets * 1_000_000_000 / u128::from(self.rate)) as u64
    }
}

/// Packets of a flow at `rate` for `duration`: at least one.
pub fn total(rate: PacketsPerSec, duration: Nanos) -> u64 {
    let packets = (u128::from(rate.0) * u128::from(duration.0)).div_ceil(1_000_000_000);
    u64::try_from(packets).unwrap_or(u64::MAX).max(1)
}
