//! The only unsafe code of the crate: reading `TCP_INFO` with all that this kernel tells, for which
//! no wrapper exists that knows the newer fields.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// `sizeof(struct tcp_info)` of Linux 6.18, rounded up; an older kernel writes less.
pub(crate) const TCP_INFO_BYTES: usize = 512;

/// `TCP_INFO` as the kernel writes it; what it does not know stays zero.
pub(crate) fn tcp_info(socket: BorrowedFd<'_>) -> io::Result<[u8; TCP_INFO_BYTES]> {
    let mut bytes = [0_u8; TCP_INFO_BYTES];
    let mut length = TCP_INFO_BYTES as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes, the size of the buffer, any of which are
    // valid bytes.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            bytes.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if result == 0 {
        Ok(bytes)
    } else {
        Err(io::Error::last_os_error())
    }
}
