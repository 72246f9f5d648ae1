//! A file system that stops as if its machine had lost power: nothing that is still in memory is
//! written any more.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::io::Errno;
use rustix::ioctl::{Setter, ioctl, opcode};

/// `FS_IOC_SHUTDOWN`, `_IOR('X', 125, __u32)` (`include/uapi/linux/fs.h`, since 6.x;
/// `EXT4_IOC_SHUTDOWN` and `XFS_IOC_GOINGDOWN` before).
const FS_IOC_SHUTDOWN: rustix::ioctl::Opcode = opcode::read::<u32>(b'X', 125);

/// Not even the journal is flushed (`FS_SHUTDOWN_FLAGS_NOLOGFLUSH`).
const NO_LOG_FLUSH: u32 = 2;

/// Shuts the file system at `mount_point` down. One that cannot is left as it is.
pub(super) fn file_system(mount_point: &Path) -> io::Result<()> {
    let folder = File::open(mount_point)?;
    // SAFETY: the kernel reads one u32 from the pointer it is given (get_user in ext4_ioctl and
    // xfs_file_ioctl), which Setter keeps alive for the length of the call; it writes nothing.
    let done = unsafe {
        ioctl(
            &folder,
            Setter::<{ FS_IOC_SHUTDOWN }, u32>::new(NO_LOG_FLUSH),
        )
    };
    done.map_err(|e: Errno| io::Error::from_raw_os_error(e.raw_os_error()))
}
