//! Rungs: what one host can do by itself, each measured bare. The whole path is a copy
//! (`hawser-copy`), whose parts these are.
//!
//! A rung is a file with one job. It says of itself how it was done, gives the bytes of each
//! slice of time, and where it cannot run here it says why not instead. It does not judge.
#![forbid(unsafe_code)]

mod checksum;
mod cipher;
mod error;
pub mod fanout;
mod iscsi;
mod kernel_cipher;
pub mod loopback;
mod memory;
mod sampler;
mod sink;
mod source;
mod spec;
mod zfs;

pub use error::RungError;
pub use spec::{Direction, RungSpec};

use hawser_model::ladder::Rung;

/// Measures a rung on this host; one that cannot run here says so in the answer.
pub fn measure(spec: &RungSpec) -> Rung {
    let (how, measured) = match spec {
        RungSpec::MemoryCopy { duration } => memory::measure(*duration),
        RungSpec::SourceRead { storage, duration } => source::measure(storage, *duration),
        RungSpec::SinkWrite { storage, duration } => sink::measure(storage, *duration),
        RungSpec::Checksum { duration } => checksum::measure(*duration),
        RungSpec::Cipher {
            cipher,
            direction,
            duration,
        } => cipher::measure(*cipher, *direction, *duration),
        RungSpec::KernelCipher { cipher, duration } => kernel_cipher::measure(*cipher, *duration),
        RungSpec::ZfsChecksum => zfs::read(),
        RungSpec::IscsiRead {
            unit,
            depth,
            duration,
        } => iscsi::measure(unit, *depth, *duration),
        RungSpec::Loopback { address, duration } => loopback::measure(*address, *duration),
    };
    let (samples, unavailable) = match measured {
        Ok(samples) => (samples, None),
        Err(why) => (Vec::new(), Some(why.to_string())),
    };
    Rung {
        kind: spec.kind(),
        host: None,
        how,
        depth: spec.depth(),
        unavailable,
        samples,
        usage: Default::default(),
        streams: Vec::new(),
        stages: Vec::new(),
    }
}

/// How it is done, and what was done in each slice of time.
type Measured = (String, Result<Vec<hawser_model::ladder::Sample>, RungError>);
