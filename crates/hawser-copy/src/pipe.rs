//! Two stages that hand frames to each other, overlapped where there are CPUs for it.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use hawser_model::copy::Stage;

use crate::error::CopyError;
use crate::frame::Frame;
use crate::progress::Shared;
use crate::threads::ThreadWatch;

/// Frames under way between two stages: one being filled, one being worked off, two that even out
/// a hiccup of either.
const FRAMES: usize = 4;

/// Whether two stages of each of `streams` streams run at the same time.
///
/// On two CPUs or fewer they do not: the two ends of a page-cache copy are then as many threads as
/// CPUs, and a frame is still in the cache of the CPU that filled it. The kernel's read-ahead and
/// write-back overlap with disks all the same.
pub(crate) fn overlap(streams: u32) -> bool {
    let cpus = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    cpus > 2 * streams as usize
}

/// Which stages the two halves of a stream's pipeline are.
pub(crate) struct Halves {
    /// Those of `produce`.
    pub(crate) first: &'static [Stage],
    /// Those of `consume`.
    pub(crate) second: &'static [Stage],
}

/// Runs `produce` until a frame says that it is the last, and `consume` on every frame, and books
/// their threads. When `consume` failed, the copy is stopped, to wake a `produce` that waits.
///
/// # Errors
/// The first of either.
pub(crate) fn drive(
    shared: &Shared,
    halves: &Halves,
    overlapped: bool,
    mut produce: impl FnMut(&mut Frame) -> Result<(), CopyError> + Send,
    mut consume: impl FnMut(&mut Frame) -> Result<(), CopyError>,
) -> Result<(), CopyError> {
    let size = shared.options.chunk as usize;
    if !overlapped {
        let all = [halves.first, halves.second].concat();
        let _watch = ThreadWatch::start(shared, all);
        let mut frame = Frame::new(size);
        loop {
            produce(&mut frame)?;
            consume(&mut frame)?;
            if frame.last {
                return Ok(());
            }
        }
    }
    let (full, filled) = sync_channel::<Result<Frame, CopyError>>(FRAMES);
    let (empty, emptied) = sync_channel::<Frame>(FRAMES);
    for _ in 0..FRAMES {
        empty.try_send(Frame::new(size)).expect("room for all");
    }
    thread::scope(|scope| {
        scope.spawn(move || {
            let _watch = ThreadWatch::start(shared, halves.first.to_vec());
            fill(&emptied, &full, &mut produce);
        });
        let _watch = ThreadWatch::start(shared, halves.second.to_vec());
        let outcome = work_off(&filled, &empty, &mut consume);
        if outcome.is_err() {
            shared.stop();
        }
        // Both ends go, so that a producer that waits for one ends.
        drop((filled, empty));
        outcome
    })
}

fn fill(
    emptied: &Receiver<Frame>,
    full: &SyncSender<Result<Frame, CopyError>>,
    produce: &mut impl FnMut(&mut Frame) -> Result<(), CopyError>,
) {
    while let Ok(mut frame) = emptied.recv() {
        let produced = produce(&mut frame);
        let over = produced.is_err() || frame.last;
        // A consumer that is gone has said why.
        if full.send(produced.map(|()| frame)).is_err() || over {
            return;
        }
    }
}

fn work_off(
    filled: &Receiver<Result<Frame, CopyError>>,
    empty: &SyncSender<Frame>,
    consume: &mut impl FnMut(&mut Frame) -> Result<(), CopyError>,
) -> Result<(), CopyError> {
    loop {
        let mut frame = filled
            .recv()
            .map_err(|_| CopyError::Thread("producing"))??;
        consume(&mut frame)?;
        if frame.last {
            return Ok(());
        }
        // The producer may have ended after its last frame; then nobody needs the buffer.
        let _ = empty.send(frame);
    }
}
