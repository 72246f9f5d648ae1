//! Writing the sink, 1 MiB at a time, into a file that has no name and is gone afterwards.
//!
//! Through the page cache what was written is brought to the device (`fdatasync`) every 64 MiB,
//! and that time counts: a page cache takes anything until it is full. Memory has no device.

use hawser_copy::storage::{self, Aligned, BLOCK};
use hawser_model::ladder::{Sample, Storage};
use hawser_model::units::Nanos;

use crate::sampler::Sampler;
use crate::{Measured, RungError};

pub(crate) fn measure(storage: &Storage, duration: Nanos) -> Measured {
    match storage::sink(storage) {
        Ok(opened) => (opened.how().to_owned(), write(&opened, duration)),
        Err(error) => (String::new(), Err(error.into())),
    }
}

fn write(opened: &storage::Opened, duration: Nanos) -> Result<Vec<Sample>, RungError> {
    let buffer = Aligned::new(BLOCK);
    let mut offset = 0;
    let mut sampler = Sampler::start(duration);
    let mut unsynced = 0;
    loop {
        let synced = opened.write(buffer.bytes(), offset)?;
        offset += BLOCK as u64;
        unsynced += BLOCK;
        // What the page cache took counts when it was brought to the device.
        if (synced || !opened.synced()) && !sampler.add(std::mem::take(&mut unsynced)) {
            return Ok(sampler.finish());
        }
    }
}
