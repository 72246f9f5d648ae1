//! Link-layer datagrams: `AF_PACKET` sockets of one ethertype on one interface (packet(7)).

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use super::zeroed;

/// Opens a socket for frames of `ethertype` on the interface; it does not hear its own host
/// sending on that interface.
pub(crate) fn open(interface: u32, ethertype: u16) -> io::Result<OwnedFd> {
    let protocol = ethertype.to_be();
    // SAFETY: no pointers. Protocol 0 receives nothing until bind() below names the
    // interface and the ethertype, so no frame of another interface gets in between.
    let descriptor = unsafe {
        libc::socket(
            libc::AF_PACKET,
            libc::SOCK_DGRAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK,
            0,
        )
    };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: just opened and owned by nobody else.
    let socket = unsafe { OwnedFd::from_raw_fd(descriptor) };
    let address = link_address(interface, protocol);
    // SAFETY: a sockaddr_ll of its own size.
    let bound = unsafe {
        libc::bind(
            socket.as_raw_fd(),
            std::ptr::from_ref(&address).cast(),
            size_of::<libc::sockaddr_ll>() as libc::socklen_t,
        )
    };
    if bound < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(socket)
}

/// Broadcasts one frame's payload.
pub(crate) fn broadcast(
    socket: BorrowedFd<'_>,
    interface: u32,
    ethertype: u16,
    payload: &[u8],
) -> io::Result<()> {
    let mut address = link_address(interface, ethertype.to_be());
    address.sll_halen = 6;
    address.sll_addr[..6].fill(0xff);
    // SAFETY: payload and address are valid for the lengths passed with them.
    let sent = unsafe {
        libc::sendto(
            socket.as_raw_fd(),
            payload.as_ptr().cast(),
            payload.len(),
            0,
            std::ptr::from_ref(&address).cast(),
            size_of::<libc::sockaddr_ll>() as libc::socklen_t,
        )
    };
    if sent < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

fn link_address(interface: u32, protocol: u16) -> libc::sockaddr_ll {
    let mut address = zeroed!(libc::sockaddr_ll);
    address.sll_family = libc::AF_PACKET as libc::c_ushort;
    address.sll_protocol = protocol;
    address.sll_ifindex = interface as libc::c_int;
    address
}
