//! What the threads of one end share: counts, stage times, sockets, and the wish to end.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hawser_model::copy::{
    CopyEnd, CopyFailure, CopyOptions, SourceState, Stage, StageTime, ThreadTime,
};
use hawser_model::units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};
use socket2::Socket;

use crate::error::CopyError;
use crate::sampler;
use crate::tcp;
use crate::threads::thread_cpu;

/// Where a copy stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Now {
    /// Length of the source; absent until both ends have met.
    pub size: Option<Bytes>,
    /// Dealt with, holes and kept data included.
    pub bytes: Bytes,
    /// Of that, kept from an earlier run.
    pub kept: Bytes,
    /// The end is done, well or not.
    pub finished: bool,
}

/// One end of a copy at work in threads of its own. Dropping it ends it.
#[derive(Debug)]
pub struct Running {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<CopyEnd>>,
}

impl Running {
    /// Starts `work` and the sampler beside it.
    pub(crate) fn start(
        shared: Arc<Shared>,
        work: impl FnOnce(&Shared) -> Result<Option<u128>, CopyError> + Send + 'static,
    ) -> Result<Self, CopyError> {
        let there = shared.clone();
        let thread = std::thread::Builder::new()
            .name("hawser-copy".to_owned())
            .spawn(move || {
                let sampled = there.clone();
                let sampler = std::thread::spawn(move || sampler::run(&sampled));
                let outcome = work(&there);
                let elapsed = there.elapsed();
                there.finished.store(true, Relaxed);
                let samples = sampler.join().unwrap_or_default();
                let mut end = there.report(elapsed);
                end.samples = samples;
                match there.first_failure(outcome) {
                    Ok(checksum) => end.checksum = checksum.map(|sum| format!("{sum:032x}")),
                    Err(error) => {
                        // The other end must not wait for what will not come.
                        there.stop();
                        end.failure = Some(CopyFailure {
                            error: error.to_string(),
                            connection: error.is_connection(),
                        });
                    }
                }
                end
            })
            .map_err(CopyError::file("clone", "copying thread"))?;
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }

    /// How far it is.
    pub fn now(&self) -> Now {
        let shared = &self.shared;
        Now {
            size: shared.size.get().copied().map(Bytes),
            bytes: Bytes(shared.bytes()),
            kept: Bytes(shared.kept.load(Relaxed)),
            finished: self.thread.as_ref().is_none_or(JoinHandle::is_finished),
        }
    }

    /// Ends it early: connections are closed, what arrived stays to be resumed.
    pub fn abort(&self) {
        self.shared.stop();
    }

    /// Waits for its end and gives its report.
    pub fn finish(mut self) -> CopyEnd {
        let thread = self.thread.take();
        thread
            .and_then(|thread| thread.join().ok())
            .unwrap_or_else(|| CopyEnd {
                failure: Some(CopyFailure {
                    error: CopyError::Thread("copying").to_string(),
                    connection: false,
                }),
                ..CopyEnd::default()
            })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            self.shared.stop();
            // Nobody is left to read its report.
            let _ = thread.join();
        }
    }
}

/// Which end this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Sender,
    Receiver,
}

#[derive(Debug, Default)]
struct StageCell {
    bytes: AtomicU64,
    busy: AtomicU64,
    waiting: AtomicU64,
    cpu: AtomicU64,
}

/// Seen by all threads of one end.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) role: Role,
    pub(crate) options: CopyOptions,
    started: OnceLock<Instant>,
    size: OnceLock<u64>,
    pub(crate) moved: AtomicU64,
    pub(crate) kept: AtomicU64,
    pub(crate) holes: AtomicU64,
    pub(crate) foreign: AtomicU64,
    pub(crate) zero_copy: AtomicBool,
    /// At the sender, once the last byte was sent.
    pub(crate) source: OnceLock<SourceState>,
    stages: [StageCell; Stage::ALL.len()],
    threads: Mutex<Vec<ThreadTime>>,
    sockets: Mutex<Vec<Socket>>,
    stopping: AtomicBool,
    pub(crate) finished: AtomicBool,
    failure: Mutex<Option<CopyError>>,
}

impl Shared {
    pub(crate) fn new(role: Role, options: CopyOptions) -> Arc<Self> {
        Arc::new(Self {
            role,
            options,
            started: OnceLock::new(),
            size: OnceLock::new(),
            moved: AtomicU64::new(0),
            kept: AtomicU64::new(0),
            holes: AtomicU64::new(0),
            foreign: AtomicU64::new(0),
            zero_copy: AtomicBool::new(false),
            source: OnceLock::new(),
            stages: Default::default(),
            threads: Mutex::default(),
            sockets: Mutex::default(),
            stopping: AtomicBool::new(false),
            finished: AtomicBool::new(false),
            failure: Mutex::default(),
        })
    }

    /// The clock starts: data may flow from now on.
    pub(crate) fn go(&self, size: u64) {
        self.size.get_or_init(|| size);
        self.started.get_or_init(Instant::now);
    }

    pub(crate) fn elapsed(&self) -> Option<Nanos> {
        self.started.get().map(|started| nanos(started.elapsed()))
    }

    pub(crate) fn bytes(&self) -> u64 {
        [&self.moved, &self.kept, &self.holes]
            .iter()
            .map(|count| count.load(Relaxed))
            .sum()
    }

    /// Keeps a socket to look at and to close when the copy must end.
    pub(crate) fn watch(&self, socket: &Socket) -> Result<(), CopyError> {
        let socket = socket
            .try_clone()
            .map_err(CopyError::connection("dup", "connection"))?;
        self.sockets().push(socket);
        if self.is_stopping() {
            self.close();
        }
        Ok(())
    }

    pub(crate) fn sockets(&self) -> MutexGuard<'_, Vec<Socket>> {
        self.sockets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Relaxed)
    }

    pub(crate) fn stop(&self) {
        self.stopping.store(true, Relaxed);
        self.close();
    }

    /// Remembers the first failure and ends the rest.
    pub(crate) fn fail(&self, error: CopyError) {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        let error = if self.is_stopping() && error.is_connection() && failure.is_none() {
            CopyError::Stopped
        } else {
            error
        };
        failure.get_or_insert(error);
        drop(failure);
        self.stop();
    }

    /// Closes all connections; whoever reads or writes one wakes up.
    fn close(&self) {
        for socket in self.sockets().iter() {
            // One that is closed already needs nothing.
            let _ = socket.shutdown(std::net::Shutdown::Both);
        }
    }

    fn first_failure<T>(&self, outcome: Result<T, CopyError>) -> Result<T, CopyError> {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        match (failure.take(), outcome) {
            (Some(first), _) => Err(first),
            (None, Err(error)) if error.is_connection() && self.is_stopping() => {
                Err(CopyError::Stopped)
            }
            (None, outcome) => outcome,
        }
    }

    /// Does a stage's work on `bytes` and books its time; all of it is work.
    pub(crate) fn working<T>(&self, stage: Stage, bytes: u64, work: impl FnOnce() -> T) -> T {
        let (done, spent, _) = self.timed(stage, bytes, work);
        self.cell(stage).busy.fetch_add(spent.0, Relaxed);
        done
    }

    /// The same for a stage that waits for the other end: only CPU time is work.
    pub(crate) fn waiting<T>(&self, stage: Stage, bytes: u64, work: impl FnOnce() -> T) -> T {
        let (done, spent, cpu) = self.timed(stage, bytes, work);
        let cell = self.cell(stage);
        cell.busy.fetch_add(cpu.0, Relaxed);
        cell.waiting.fetch_add(spent.saturating_sub(cpu).0, Relaxed);
        done
    }

    fn timed<T>(&self, stage: Stage, bytes: u64, work: impl FnOnce() -> T) -> (T, Nanos, Nanos) {
        let (start, before) = (Instant::now(), thread_cpu());
        let done = work();
        let cpu = thread_cpu().saturating_sub(before);
        let cell = self.cell(stage);
        cell.bytes.fetch_add(bytes, Relaxed);
        cell.cpu.fetch_add(cpu.0, Relaxed);
        (done, nanos(start.elapsed()), cpu)
    }

    /// A thread of the stages has ended.
    pub(crate) fn thread_ended(&self, time: ThreadTime) {
        let threads = self.threads.lock();
        threads.unwrap_or_else(PoisonError::into_inner).push(time);
    }

    /// Books bytes whose number was not known before the call.
    pub(crate) fn passed(&self, stage: Stage, bytes: u64) {
        self.cell(stage).bytes.fetch_add(bytes, Relaxed);
    }

    fn cell(&self, stage: Stage) -> &StageCell {
        &self.stages[stage as usize]
    }

    pub(crate) fn busy(&self, stage: Stage) -> Nanos {
        Nanos(self.cell(stage).busy.load(Relaxed))
    }

    fn report(&self, elapsed: Option<Nanos>) -> CopyEnd {
        let stages = Stage::ALL
            .into_iter()
            .map(|stage| {
                let cell = self.cell(stage);
                StageTime {
                    stage,
                    bytes: Bytes(cell.bytes.load(Relaxed)),
                    busy: Nanos(cell.busy.load(Relaxed)),
                    waiting: Nanos(cell.waiting.load(Relaxed)),
                    cpu: Nanos(cell.cpu.load(Relaxed)),
                }
            })
            .filter(|time| !time.bytes.is_zero() || !time.busy.is_zero())
            .collect();
        CopyEnd {
            size: Bytes(self.size.get().copied().unwrap_or(0)),
            moved: Bytes(self.moved.load(Relaxed)),
            kept: Bytes(self.kept.load(Relaxed)),
            holes: Bytes(self.holes.load(Relaxed)),
            elapsed: elapsed.unwrap_or_default(),
            zero_copy: self.zero_copy.load(Relaxed),
            stages,
            threads: self
                .threads
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone(),
            tcp: self.sockets().iter().map(tcp::facts).collect(),
            source: self.source.get().copied().unwrap_or_default(),
            foreign: self.foreign.load(Relaxed),
            ..CopyEnd::default()
        }
    }
}

pub(crate) fn nanos(time: Duration) -> Nanos {
    Nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}
