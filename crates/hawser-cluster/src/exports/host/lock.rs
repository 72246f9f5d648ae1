//! One start or stop at a time: tgtd's target numbers and accounts are shared by all pools.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};

use nix::fcntl::{Flock, FlockArg};

use super::saved::FOLDER;

/// Held until it is dropped or its process ends.
#[derive(Debug)]
pub struct Lock(#[allow(dead_code, reason = "its drop unlocks")] Flock<fs::File>);

/// It cannot be had.
#[derive(Debug, thiserror::Error)]
#[error("{call} {FOLDER}/lock: {source}")]
pub struct LockError {
    call: &'static str,
    source: std::io::Error,
}

impl Lock {
    /// Waits for it.
    pub fn wait() -> Result<Self, LockError> {
        let failed = |call| move |source| LockError { call, source };
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(FOLDER)
            .map_err(failed("create the folder of"))?;
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(format!("{FOLDER}/lock"))
            .map_err(failed("open"))?;
        Flock::lock(file, FlockArg::LockExclusive)
            .map(Self)
            .map_err(|(_, errno)| failed("lock")(errno.into()))
    }
}
