//! Two stages that hand frames to each other, overlapped where there are CPUs for it.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use crate::error::CopyError;
use crate::frame::Frame;

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

/// Runs `produce` until a frame says that it is the last, and `consume` on every frame.
///
/// `give_up` is called when `consume` failed, to wake a `produce` that waits for something.
///
/// # Errors
/// The first of either.
pub(crate) fn drive(
    overlapped: bool,
    size: usize,
    mut produce: impl FnMut(&mut Frame) -> Result<(), CopyError> + Send,
    mut consume: impl FnMut(&mut Frame) -> Result<(), CopyError>,
    give_up: impl FnOnce(),
) -> Result<(), CopyError> {
    if !overlapped {
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
        scope.spawn(move || fill(&emptied, &full, &mut produce));
        let outcome = work_off(&filled, &empty, &mut consume);
        if outcome.is_err() {
            give_up();
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
