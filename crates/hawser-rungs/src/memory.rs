//! Copying memory to memory, 64 MiB at a time, so that it is the memory and not a cache: the
//! least that moving data can cost.

use hawser_model::units::Nanos;

use crate::Measured;
use crate::sampler::Sampler;

const SIZE: usize = 64 << 20;
/// Copied between two looks at the clock.
const PIECE: usize = 1 << 20;

pub(crate) fn measure(duration: Nanos) -> Measured {
    let from = vec![0x5a_u8; SIZE];
    // Written once, so that the first round does not measure page faults.
    let mut to = vec![1_u8; SIZE];
    let mut sampler = Sampler::start(duration);
    'time: loop {
        for (to, from) in to.chunks_mut(PIECE).zip(from.chunks(PIECE)) {
            to.copy_from_slice(from);
            std::hint::black_box(&mut *to);
            if !sampler.add(from.len()) {
                break 'time;
            }
        }
    }
    ("64 MiB, one thread".to_owned(), Ok(sampler.finish()))
}
