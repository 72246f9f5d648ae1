//! Doing something in the machine's first network namespace.

use std::fs::File;
use std::path::Path;
use std::thread;

use nix::sched::{CloneFlags, setns};

use crate::KernelError;

/// Runs `work` in the network namespace at `net`, on a thread that ends with it, so that no other
/// call of this process ever finds itself there.
pub(super) fn within<T: Send>(
    net: &Path,
    work: impl FnOnce() -> Result<T, KernelError> + Send,
) -> Result<T, KernelError> {
    let handle = File::open(net).map_err(|source| KernelError::File {
        call: "open",
        path: net.to_owned(),
        source,
    })?;
    thread::scope(|scope| {
        let entered = scope.spawn(move || {
            setns(handle, CloneFlags::CLONE_NEWNET)
                .map_err(|e| KernelError::call("setns", net.display(), e))?;
            work()
        });
        entered
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
