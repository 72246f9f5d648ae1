//! How long one call into the implementation holds a core.

use std::time::Instant;

use nix::sys::resource::{UsageWho, getrusage};

use crate::bench::Layout;
use crate::bench::arena::Arena;
use crate::bench::contender::{self, Task};
use crate::bench::plan::Group;
use crate::bench::rounds::processor_time;
use crate::chunks::CHUNK;
use crate::error::CipherError;

/// Times of calls that cover [`CHUNK`] bytes each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Calls {
    pub(crate) median_us: f64,
    pub(crate) longest_us: f64,
    /// The longest of the least disturbed [`BATCH`], by the thread's processor time.
    pub(crate) longest_undisturbed_us: Option<f64>,
    /// The calls during which another program ran.
    pub(crate) disturbed: usize,
}

/// Calls in a row of which the longest is taken, to take the shortest of those. All calls do the same
/// work. What interrupts one (a device, a hypervisor's turn) is not told from it by any clock of the
/// thread; but it does not come in every hundred.
const BATCH: usize = 100;

/// Times `count` calls of one chunk, one by one. With GCM each is a message, begun and ended.
pub(crate) fn measure(group: &Group, count: usize) -> Result<Calls, CipherError> {
    let group = Group {
        chunk: CHUNK,
        ..*group
    };
    let task = Task::new(&group)?;
    let mut arena = Arena::new(Layout::Contiguous, &task.text);
    let mut worker = contender::ours(&group, &task, arena.memory())?;
    for _ in 0..10 {
        worker.once()?;
    }
    let mut walls = Vec::with_capacity(count);
    let mut undisturbed = Vec::with_capacity(count);
    let mut disturbed = 0;
    for _ in 0..count {
        let switches = times_switched_out();
        // The processor time is read outside the wall clock's span: it is a system call.
        let used = processor_time();
        let start = Instant::now();
        worker.once()?;
        walls.push(start.elapsed());
        let used = processor_time().saturating_sub(used);
        if times_switched_out() == switches {
            undisturbed.push(used);
        } else {
            disturbed += 1;
        }
    }
    walls.sort();
    Ok(Calls {
        median_us: walls[count / 2].as_secs_f64() * 1e6,
        longest_us: walls[count - 1].as_secs_f64() * 1e6,
        longest_undisturbed_us: undisturbed
            .chunks_exact(BATCH)
            .filter_map(|batch| batch.iter().max())
            .min()
            .map(|longest| longest.as_secs_f64() * 1e6),
        disturbed,
    })
}

/// How often another program was given this thread's processor (getrusage(2), `ru_nivcsw`).
fn times_switched_out() -> i64 {
    getrusage(UsageWho::RUSAGE_THREAD)
        .expect("Linux always counts a thread's switches")
        .involuntary_context_switches()
}
