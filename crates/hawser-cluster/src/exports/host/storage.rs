//! Whether the storage below a volume answers: one block is read, past every cache.
//!
//! A read of a disk that is gone may never end, and neither does a process that waits for it, `kill -9` or not.
//! So a process of its own reads, and who asked goes on without it.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::process::Child;
use std::time::Duration;

use hawser_tool::{Deadline, Launch};

use super::storage_id::StorageId;

/// The word after `hawser exports` that makes a process one that reads.
pub const WORD: &str = "read-block";

/// Bytes that are read: a block of any disk, and what `O_DIRECT` wants (open(2)).
const BLOCK: usize = 4096;

/// Reads from a volume in a process of its own.
///
/// # Errors
/// The kernel's error; `TimedOut` when it does not answer until then. When no process can be started, nothing is
/// known of the storage, and that is no error.
pub fn answers(volume: &Path, until: Deadline) -> io::Result<()> {
    let Some(mut reader) = reader(volume) else {
        return Ok(());
    };
    let ended = until.ask(Duration::from_millis(5), || reader.try_wait())?;
    match ended.map(|ended| ended.code()) {
        // One that was renamed is open under its old name, and of its storage that says nothing.
        Some(Some(0 | nix::libc::ENOENT)) => Ok(()),
        Some(Some(errno)) => Err(io::Error::from_raw_os_error(errno)),
        // Somebody killed it.
        Some(None) => Ok(()),
        None => {
            hawser_tool::leave(reader);
            Err(ErrorKind::TimedOut.into())
        }
    }
}

fn reader(volume: &Path) -> Option<Child> {
    let own = std::env::current_exe().ok()?;
    // Whoever waits for the end of a pipe of ours must not wait for the disk.
    let nowhere = File::options().write(true).open("/dev/null").ok()?;
    let reader = Launch::new(own).args(["exports", WORD]).arg(volume);
    reader.folder("/").log(nowhere).daemon().ok()
}

/// The reader: what its process ends with, 0 or the kernel's error number.
pub fn read(volume: &Path) -> u8 {
    let number = |error: io::Error| error.raw_os_error().unwrap_or(nix::libc::EIO);
    let errno = read_block(volume).map_or_else(number, |()| 0);
    u8::try_from(errno).unwrap_or(u8::MAX)
}

fn read_block(volume: &Path) -> io::Result<()> {
    let about = fs::metadata(volume)?;
    let kind = about.file_type();
    if !kind.is_file() && !kind.is_block_device() {
        // To open another kind of device may do something.
        return Err(io::Error::from_raw_os_error(nix::libc::EINVAL));
    }
    let before = StorageId::of(&about);
    let open = |flags| {
        let flags = flags | nix::libc::O_NONBLOCK | nix::libc::O_NOCTTY;
        let file = File::options()
            .read(true)
            .custom_flags(flags)
            .open(volume)?;
        match StorageId::of(&file.metadata()?) == before {
            true => Ok(file),
            false => Err(io::Error::from_raw_os_error(nix::libc::ESTALE)),
        }
    };
    // A file system that has no such reads (tmpfs) answers from its cache, which is all it has.
    let file = match open(nix::libc::O_DIRECT) {
        Err(error) if error.raw_os_error() == Some(nix::libc::EINVAL) => open(0)?,
        file => file?,
    };
    let mut room = vec![0; 2 * BLOCK];
    let at = room.as_ptr().align_offset(BLOCK);
    let block = room.get_mut(at..at + BLOCK).ok_or(ErrorKind::OutOfMemory)?;
    file.read_at(block, 0).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_read_and_an_error_is_the_kernel_s() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.img");
        fs::write(&file, [7; BLOCK]).unwrap();
        assert_eq!(read(&file), 0);
        let number = |errno: i32| u8::try_from(errno).unwrap();
        assert_eq!(
            read(&folder.path().join("b.img")),
            number(nix::libc::ENOENT)
        );
        assert_ne!(read(folder.path()), 0);
    }
}
