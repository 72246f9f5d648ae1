//! The system calls for which no safe wrapper exists. All of the crate's unsafe code is here.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// `SIOCETHTOOL` with `command` as its argument; the answer is left in `command`.
///
/// The kernel writes as many bytes as the command's own length field asks for, so the caller
/// provides a buffer that is larger than that (`ethtool.rs` does, with room to spare).
pub(crate) fn ethtool(socket: &OwnedFd, interface: &str, command: &mut [u8]) -> io::Result<()> {
    // SAFETY: `ifreq` is plain data (a byte array and a union of plain data); zero is valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if interface.len() >= request.ifr_name.len() || interface.as_bytes().contains(&0) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for (to, from) in request.ifr_name.iter_mut().zip(interface.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_data = command.as_mut_ptr().cast();
    // SAFETY: `request` lives through the call, its name is NUL-terminated (checked above), and
    // `ifru_data` points to a writable buffer that the caller made large enough.
    let status = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, &mut request) };
    match status {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
