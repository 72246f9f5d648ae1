//! Descriptors that were inherited, and that nothing which is started from here is to inherit.
#![allow(unsafe_code)]

use std::io;

/// Marks every descriptor above standard error close-on-exec: what this process opens itself is so already
/// (`std` sets `O_CLOEXEC`), what it inherited is not. A lock or a pipe of the caller would otherwise live as long as
/// the longest-lived daemon that is started from here. They stay usable in this process (`--file <(…)`).
///
/// Where `close_range` is refused (a kernel before 5.11, a filter of system calls), each descriptor is marked by itself.
///
/// # Errors
/// `/proc/self/fd` cannot be read.
pub fn keep_from_children() -> io::Result<()> {
    const FIRST: libc::c_uint = 3;
    // SAFETY: close_range(2) takes three integers and no memory; with CLOSE_RANGE_CLOEXEC it closes nothing, so no
    // descriptor that anything here owns changes its meaning.
    let done = unsafe {
        libc::syscall(
            libc::SYS_close_range,
            FIRST,
            libc::c_uint::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        )
    };
    if done == 0 {
        return Ok(());
    }
    one_by_one()
}

fn one_by_one() -> io::Result<()> {
    for entry in std::fs::read_dir("/proc/self/fd")? {
        let number = entry?.file_name().to_str().and_then(|n| n.parse().ok());
        if let Some(descriptor) = number.filter(|n: &libc::c_int| *n > 2) {
            // SAFETY: fcntl(F_SETFD) takes integers and changes a flag of the descriptor only; one that was closed
            // meanwhile (that of the folder itself) is answered with EBADF.
            let _closed = unsafe { libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC) };
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    use hawser_tool::Tool;

    /// Whether a program that is started now has the file open.
    fn inherited(path: &std::path::Path) -> bool {
        let listed = Tool::new("ls").args(["-l", "/proc/self/fd"]).output();
        String::from_utf8_lossy(&listed.unwrap().stdout).contains(path.to_str().unwrap())
    }

    #[test]
    fn what_was_inherited_is_not_passed_on_by_either_way() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let pass_on = || {
            // SAFETY: a flag of a descriptor that this test owns.
            let done = unsafe { libc::fcntl(file.as_file().as_raw_fd(), libc::F_SETFD, 0) };
            assert_eq!(done, 0);
        };
        for way in [keep_from_children, one_by_one] {
            pass_on();
            assert!(inherited(file.path()));
            way().unwrap();
            assert!(!inherited(file.path()));
        }
    }
}
