//! A stage: what it takes, what it gives, and where its time went.

use std::sync::mpsc::{Receiver, SyncSender};
use std::time::Instant;

use hawser_model::ladder::{Stage, StageKind};
use hawser_model::units::{Bytes, Nanos};

use super::block::Block;
use crate::sampler::{nanos, run_delay, thread_cpu};

/// Books a stage's time. Made on the stage's own thread.
pub(super) struct Meter {
    kind: StageKind,
    start: Instant,
    delay: Option<Nanos>,
    busy: Nanos,
    waiting_in: Nanos,
    waiting_out: Nanos,
    bytes: u64,
}

impl Meter {
    pub(super) fn start(kind: StageKind) -> Self {
        Self {
            kind,
            start: Instant::now(),
            delay: run_delay(),
            busy: Nanos::ZERO,
            waiting_in: Nanos::ZERO,
            waiting_out: Nanos::ZERO,
            bytes: 0,
        }
    }

    /// The next block from the stage before; `None` when there are no more.
    pub(super) fn take(&mut self, from: &Receiver<Block>) -> Option<Block> {
        let (taken, waited) = timed(|| from.recv().ok());
        self.waiting_in += waited;
        taken
    }

    /// Hands a block on; false when nobody takes it.
    pub(super) fn give(&mut self, to: &SyncSender<Block>, block: Block) -> bool {
        let (given, waited) = timed(|| to.send(block).is_ok());
        self.waiting_out += waited;
        given
    }

    /// Waited since then for the stages behind.
    pub(super) fn waited_out(&mut self, since: Instant) {
        self.waiting_out += nanos(since.elapsed());
    }

    /// Work that waits for nobody but its own device: all of its time is work.
    pub(super) fn work<T>(&mut self, bytes: usize, work: impl FnOnce() -> T) -> T {
        let (done, spent) = timed(work);
        self.busy += spent;
        self.bytes += bytes as u64;
        done
    }

    /// A call that waits for room in the socket: only CPU time is work.
    pub(super) fn sending<T>(&mut self, bytes: usize, call: impl FnOnce() -> T) -> T {
        let (done, waited) = self.on_socket(bytes, call);
        self.waiting_out += waited;
        done
    }

    /// A call that waits for data to arrive: only CPU time is work.
    pub(super) fn receiving<T>(&mut self, bytes: usize, call: impl FnOnce() -> T) -> T {
        let (done, waited) = self.on_socket(bytes, call);
        self.waiting_in += waited;
        done
    }

    fn on_socket<T>(&mut self, bytes: usize, call: impl FnOnce() -> T) -> (T, Nanos) {
        let cpu = thread_cpu();
        let (done, spent) = timed(call);
        let cpu = thread_cpu().saturating_sub(cpu);
        self.busy += cpu;
        self.bytes += bytes as u64;
        (done, spent.saturating_sub(cpu))
    }

    /// What came of it, on the same thread.
    pub(super) fn finish(self) -> Stage {
        let delay = run_delay().zip(self.delay);
        Stage {
            kind: self.kind,
            elapsed: nanos(self.start.elapsed()),
            busy: self.busy,
            waiting_in: self.waiting_in,
            waiting_out: self.waiting_out,
            cpu: thread_cpu(),
            run_delay: delay.map(|(after, before)| after.saturating_sub(before)),
            bytes: Bytes(self.bytes),
        }
    }
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Nanos) {
    let start = Instant::now();
    let done = work();
    (done, nanos(start.elapsed()))
}
