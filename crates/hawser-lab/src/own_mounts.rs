//! A mount namespace for the length of a test.

use std::thread;

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};

/// Does it on a thread whose mounts nobody else sees, and which are gone afterwards. Nothing is done without root.
#[track_caller]
pub(crate) fn in_own_mounts(test: impl FnOnce() + Send) {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("skipped: mounts need root");
        return;
    }
    let ran = thread::scope(|scope| {
        let alone = scope.spawn(|| {
            unshare(CloneFlags::CLONE_NEWNS).unwrap();
            let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
            mount(None::<&str>, "/", None::<&str>, private, None::<&str>).unwrap();
            test();
        });
        alone.join()
    });
    ran.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
}
