//! The system calls for which no safe wrapper exists. All of the crate's unsafe code is here.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// Binds a packet socket to an interface and a protocol (`packet(7)`): from now on it receives.
pub(crate) fn bind_packet_socket(
    socket: &OwnedFd,
    interface: u32,
    protocol: libc::c_int,
) -> io::Result<()> {
    // SAFETY: `sockaddr_ll` is plain data; zero is valid.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as libc::sa_family_t;
    address.sll_protocol = (protocol as u16).to_be();
    address.sll_ifindex = interface as libc::c_int;
    let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the address lives through the call and `length` is its size.
    let status = unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) };
    match status {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// What the kernel knows of the wall clock; nothing is set.
pub(crate) fn adjtimex() -> io::Result<libc::timex> {
    // SAFETY: `timex` is plain data; zero is valid, and zero `modes` only read.
    let mut clock: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: `clock` is writable and lives through the call.
    match unsafe { libc::adjtimex(&mut clock) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(clock),
    }
}

/// Gives freed heap memory back to the system. Reading the kernel's type information needs 20 MB
/// for a moment, in small pieces that glibc would keep.
pub(crate) fn give_back_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it may be called at any time from any thread, and touches free memory only.
    unsafe {
        libc::malloc_trim(0);
    }
}

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
