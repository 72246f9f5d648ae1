//! The real writer at work on a volume that a test makes up.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::time::Duration;

use hawser_client::history::Log;
use hawser_client::load::Load;
use hawser_client::volume::{Facts, Volume};
use hawser_client::writer::{Shared, Writer, WriterPlan};
use tempfile::NamedTempFile;

/// What such a volume says of itself.
pub const FACTS: Facts = Facts {
    blocks: 4096,
    cache: true,
};

/// Writes to the volume until it says stop, and reads everything back. The history.
pub fn history_of<V: Volume>(load: Load, stop: &AtomicBool, volume: V) -> NamedTempFile {
    let file = NamedTempFile::new().unwrap();
    let log = Log::create(file.path()).unwrap();
    let (working, ended) = (AtomicU32::new(0), Barrier::new(1));
    let plan = WriterPlan {
        run: 5,
        load,
        patience: Duration::from_secs(20),
    };
    let shared = Shared {
        log: &log,
        stop,
        working: &working,
        ended: &ended,
    };
    let whole = Writer::new(0, plan, shared, Box::new(volume)).work();
    assert!(whole.unwrap());
    file
}
