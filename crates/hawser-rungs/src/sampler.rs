//! Bytes by slices of time.

use std::time::{Duration, Instant};

use hawser_model::ladder::Sample;
use hawser_model::traffic::SLICE;
use hawser_model::units::{Bytes, Nanos};

/// Cuts work into slices of at least [`SLICE`] until its time is over.
pub(crate) struct Sampler {
    slices: Vec<Sample>,
    since: Instant,
    until: Instant,
    bytes: u64,
}

impl Sampler {
    pub(crate) fn start(duration: Nanos) -> Self {
        let now = Instant::now();
        Self {
            slices: Vec::new(),
            since: now,
            until: now + Duration::from_nanos(duration.0),
            bytes: 0,
        }
    }

    /// So much more was done; whether there is time for more.
    pub(crate) fn add(&mut self, bytes: usize) -> bool {
        self.bytes += bytes as u64;
        let now = Instant::now();
        let elapsed = nanos(now - self.since);
        if elapsed >= SLICE {
            self.slices.push(Sample {
                elapsed,
                bytes: Bytes(std::mem::take(&mut self.bytes)),
            });
            self.since = now;
        }
        now < self.until
    }

    /// The slices; work too slow for one whole slice is one.
    pub(crate) fn finish(mut self) -> Vec<Sample> {
        if self.slices.is_empty() && self.bytes > 0 {
            self.slices.push(Sample {
                elapsed: nanos(self.since.elapsed()),
                bytes: Bytes(self.bytes),
            });
        }
        self.slices
    }
}

fn nanos(time: Duration) -> Nanos {
    Nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}
