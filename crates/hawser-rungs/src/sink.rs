//! Writing the sink, 1 MiB at a time, into a file that has no name and is gone afterwards.
//!
//! Through the page cache what was written is brought to the device (`fdatasync`) every 64 MiB,
//! and that time counts: a page cache takes anything until it is full. Memory has no device.

use hawser_model::ladder::{Sample, Storage};
use hawser_model::units::Nanos;

use crate::sampler::Sampler;
use crate::storage::{self, Aligned, BLOCK};
use crate::{Measured, RungError};

/// Bytes between two `fdatasync`.
const SYNC_EVERY: usize = 64 << 20;

pub(crate) fn measure(storage: &Storage, duration: Nanos) -> Measured {
    match storage::sink(storage) {
        Ok(opened) => (opened.how.clone(), write(&opened, duration)),
        Err(error) => (String::new(), Err(error)),
    }
}

fn write(opened: &storage::Opened, duration: Nanos) -> Result<Vec<Sample>, RungError> {
    let buffer = Aligned::new(BLOCK);
    let mut offset = 0;
    let mut sampler = Sampler::start(duration);
    let mut unsynced = 0;
    loop {
        opened.write(buffer.bytes(), &mut offset)?;
        unsynced += BLOCK;
        if !opened.sync {
            if !sampler.add(BLOCK) {
                return Ok(sampler.finish());
            }
        } else if unsynced >= SYNC_EVERY {
            opened
                .file
                .sync_data()
                .map_err(RungError::call("fdatasync", &opened.how))?;
            if !sampler.add(std::mem::take(&mut unsynced)) {
                return Ok(sampler.finish());
            }
        }
    }
}
