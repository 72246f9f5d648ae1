//! What a thread of a copy had of the processors.

use std::fs;
use std::time::Instant;

use hawser_model::copy::{Stage, ThreadTime};
use hawser_model::units::Nanos;
use nix::time::{ClockId, clock_gettime};

use crate::progress::{Shared, nanos};

/// Books the calling thread from its begin to its end. Made and dropped on that thread.
pub(crate) struct ThreadWatch<'a> {
    shared: &'a Shared,
    stages: Vec<Stage>,
    start: Instant,
    delay: Option<Nanos>,
}

impl<'a> ThreadWatch<'a> {
    /// Begins; `stages` is what the thread does.
    pub(crate) fn start(shared: &'a Shared, stages: Vec<Stage>) -> Self {
        Self {
            shared,
            stages,
            start: Instant::now(),
            delay: run_delay(),
        }
    }
}

impl Drop for ThreadWatch<'_> {
    fn drop(&mut self) {
        let delay = run_delay().zip(self.delay);
        self.shared.thread_ended(ThreadTime {
            stages: std::mem::take(&mut self.stages),
            elapsed: nanos(self.start.elapsed()),
            run_delay: delay.map(|(after, before)| after.saturating_sub(before)),
        });
    }
}

/// CPU time of the calling thread.
pub(crate) fn thread_cpu() -> Nanos {
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("Linux has the CPU clock");
    Nanos(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}

/// How long the calling thread could have run and did not: the second number of its `schedstat`
/// (Documentation/scheduler/sched-stats.rst).
fn run_delay() -> Option<Nanos> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().nth(1)?.parse().ok().map(Nanos)
}
