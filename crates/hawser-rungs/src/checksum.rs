//! The checksum of a copy, 256 KiB at a time in the cache, as a copy finds data just read.

use hawser_model::units::Nanos;

use crate::Measured;
use crate::sampler::Sampler;

const CHUNK: usize = 256 << 10;

pub(crate) fn measure(duration: Nanos) -> Measured {
    let data = vec![0x5a_u8; CHUNK];
    let mut sampler = Sampler::start(duration);
    loop {
        std::hint::black_box(hawser_copy::checksum(std::hint::black_box(&data)));
        if !sampler.add(CHUNK) {
            return ("XXH3-128, 256 KiB".to_owned(), Ok(sampler.finish()));
        }
    }
}
