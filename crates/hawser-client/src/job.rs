//! What the writers of a client are to do, and their work: writing until they are told to stop, then reading
//! everything back.

use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::creator::Creator;
use crate::history::Log;
use crate::load::Load;
use crate::stamp;
use crate::target::Target;
use crate::volume::{Device, Volume};
use crate::writer::{Shared, Writer, WriterPlan};

/// Opens a unit for the writer of this number, in the run of this number.
pub type OpenUnit = fn(&Target, u8, u64) -> Box<dyn Volume>;

/// What is written to. What it held is overwritten.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Destination {
    /// A unit, by iSCSI.
    Unit(Target),
    /// A file or block device of this host: of its kernel's initiator, or on NFS.
    Path(PathBuf),
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// What is written to.
    pub destination: Destination,
    /// How.
    pub load: Load,
    /// Whether files are created beside the file that is written to, too.
    pub create: bool,
    /// How long to wait for the volume at the end.
    pub patience: Duration,
}

impl Job {
    /// Writes until `stop` is set, and reads everything back. Calls `writing` when every writer has had an
    /// acknowledgement. True: all that was written was read.
    ///
    /// # Errors
    /// What no retry cures, or the history cannot be written.
    pub fn work(
        &self,
        open: OpenUnit,
        log: &Log,
        stop: &AtomicBool,
        writing: impl FnOnce(),
    ) -> Result<bool, String> {
        let load = self.load;
        load.check()?;
        let plan = WriterPlan {
            run: run_number(),
            load,
            patience: self.patience,
        };
        // Opened before any writer begins: the writers wait for each other at the end.
        let mut devices = Vec::new();
        match &self.destination {
            Destination::Path(path) => {
                fits(path, load)?;
                for _ in 0..load.writers {
                    let device = Device::open(path);
                    devices.push(device.map_err(|e| format!("{}: {e}", path.display()))?);
                }
            }
            Destination::Unit(target) if target.portals.is_empty() => {
                return Err("no address of the target is named".to_owned());
            }
            Destination::Unit(_) => {}
        }
        let creator = match (&self.destination, self.create) {
            (Destination::Path(path), true) => Some(Creator::beside(path, load.writers)?),
            (Destination::Unit(_), true) => return Err("a unit has no files beside it".to_owned()),
            (_, false) => None,
        };
        let busy = u32::from(load.writers) + u32::from(self.create);
        let (working, written) = (AtomicU32::new(0), AtomicBool::new(false));
        let ended = Barrier::new(usize::from(load.writers));
        thread::scope(|scope| {
            let mut writers = Vec::new();
            let creates = creator.map(|creator| {
                let (written, working) = (&written, &working);
                scope.spawn(move || creator.work(log, [stop, written], working))
            });
            for number in 0..load.writers {
                let (working, ended) = (&working, &ended);
                let device = devices.pop();
                writers.push(scope.spawn(move || {
                    let shared = Shared {
                        log,
                        stop,
                        working,
                        ended,
                    };
                    let volume: Box<dyn Volume> = match (device, &self.destination) {
                        (Some(device), _) => Box::new(device),
                        (None, Destination::Unit(target)) => open(target, number, plan.run),
                        (None, Destination::Path(_)) => unreachable!("one was opened for each"),
                    };
                    Writer::new(number, plan, shared, volume).work()
                }));
            }
            loop {
                if working.load(Ordering::Relaxed) == busy {
                    writing();
                    break;
                }
                if writers.iter().all(|writer| writer.is_finished()) {
                    break;
                }
                thread::sleep(Duration::from_millis(5));
            }
            let writers = writers.into_iter().map(|writer| writer.join());
            let outcomes: Vec<_> = writers.collect();
            // Whatever became of them: nobody waits for files that are created on and on.
            written.store(true, Ordering::Relaxed);
            let mut whole = true;
            for outcome in outcomes {
                let outcome = outcome.map_err(|_| "a writer panicked".to_owned())?;
                whole &= outcome.map_err(|e| e.to_string())?;
            }
            if let Some(creates) = creates {
                let outcome = creates.join();
                let outcome =
                    outcome.map_err(|_| "the client that creates files panicked".to_owned())?;
                outcome.map_err(|e| e.to_string())?;
            }
            Ok(whole)
        })
    }
}

/// The number of a run, by which its blocks are told from those of other runs.
fn run_number() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let mut number = u64::from(std::process::id()) ^ now.unwrap_or_default().as_nanos() as u64;
    stamp::mixed(&mut number)
}

/// Whether a file or device is free and has room.
fn fits(path: &Path, load: Load) -> Result<(), String> {
    Device::free(path).map_err(|e| match e.raw_os_error() {
        Some(nix::libc::EBUSY) => format!(
            "{}: in use on this host: mounted, or a part of something else (of multipath, LVM, …)",
            path.display()
        ),
        _ => format!("{}: {e}", path.display()),
    })?;
    let device = Device::open(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let blocks = device.facts().map_or(0, |facts| facts.blocks);
    load.fits(blocks)
        .map_err(|e| format!("{}: {e}", path.display()))
}
