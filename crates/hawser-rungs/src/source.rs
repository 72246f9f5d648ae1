//! Reading the source, 1 MiB at a time, from its begin and around.
//!
//! Through the page cache a file is read as a second reader would find it: from the cache as far
//! as it fits. Past it (`O_DIRECT`) it is the device that is measured.

use hawser_copy::storage::{self, Aligned, BLOCK};
use hawser_model::ladder::{Sample, Storage};
use hawser_model::units::Nanos;

use crate::sampler::Sampler;
use crate::{Measured, RungError};

pub(crate) fn measure(storage: &Storage, duration: Nanos) -> Measured {
    match storage::source(storage) {
        Ok(opened) => (opened.how().to_owned(), read(&opened, duration)),
        Err(error) => (String::new(), Err(error.into())),
    }
}

fn read(opened: &storage::Opened, duration: Nanos) -> Result<Vec<Sample>, RungError> {
    let mut buffer = Aligned::new(BLOCK);
    let mut offset = 0;
    let mut sampler = Sampler::start(duration);
    loop {
        opened.read(buffer.bytes_mut(), offset)?;
        offset += BLOCK as u64;
        if !sampler.add(BLOCK) {
            return Ok(sampler.finish());
        }
    }
}
