//! How long one call into the implementation holds a core.

use std::time::Instant;

use crate::bench::Layout;
use crate::bench::arena::Arena;
use crate::bench::contender::{self, Task};
use crate::bench::plan::Group;
use crate::chunks::CHUNK;
use crate::error::CipherError;

/// Times of calls that cover [`CHUNK`] bytes each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Calls {
    pub(crate) median_us: f64,
    pub(crate) longest_us: f64,
}

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
    let mut times = Vec::with_capacity(count);
    for _ in 0..count {
        let start = Instant::now();
        worker.once()?;
        times.push(start.elapsed());
    }
    times.sort();
    let micros = |at: usize| times[at].as_secs_f64() * 1e6;
    Ok(Calls {
        median_us: micros(count / 2),
        longest_us: micros(count - 1),
    })
}
