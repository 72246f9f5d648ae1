//! Doing something in another network namespace, with its own `/sys/class/net` in place.

use std::fs::File;
use std::os::fd::AsFd;
use std::thread;

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, setns, unshare};

use crate::KernelError;

/// Runs `work` on a thread that ends with it, so that no other call of this process ever finds itself
/// there. The mount is that thread's alone.
pub(super) fn with_sysfs<T: Send>(
    namespace: &File,
    work: impl FnOnce() -> Result<T, KernelError> + Send,
) -> Result<T, KernelError> {
    const SYS: &str = "/sys";
    const NONE: Option<&str> = None;
    thread::scope(|scope| {
        let there = scope.spawn(|| {
            unshare(CloneFlags::CLONE_NEWNS)
                .map_err(|e| KernelError::call("unshare", "a mount namespace", e))?;
            let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
            mount(NONE, "/", NONE, private, NONE)
                .map_err(|e| KernelError::call("mount --make-rprivate", "/", e))?;
            setns(namespace.as_fd(), CloneFlags::CLONE_NEWNET)
                .map_err(|e| KernelError::call("setns", "a network namespace", e))?;
            mount(Some("sysfs"), SYS, Some("sysfs"), MsFlags::empty(), NONE)
                .map_err(|e| KernelError::call("mount sysfs", SYS, e))?;
            work()
        });
        there
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
