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

/// The Ethernet address of the interface that a socket is bound to; absent when it has none.
pub(crate) fn ethernet_address(socket: BorrowedFd<'_>) -> io::Result<Option<[u8; 6]>> {
    let mut address = zeroed!(libc::sockaddr_ll);
    let mut length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes into the address, and its length.
    let named = unsafe {
        libc::getsockname(
            socket.as_raw_fd(),
            std::ptr::from_mut(&mut address).cast(),
            &raw mut length,
        )
    };
    if named < 0 {
        return Err(io::Error::last_os_error());
    }
    let ethernet = address.sll_hatype == libc::ARPHRD_ETHER && address.sll_halen == 6;
    let mac = address.sll_addr.first_chunk::<6>().copied();
    Ok(mac.filter(|mac| ethernet && *mac != [0; 6]))
}

/// Broadcasts one frame's payload.
pub(crate) fn broadcast(
    socket: BorrowedFd<'_>,
    interface: u32,
    ethertype: u16,
    payload: &[u8],
) -> io::Result<()> {
    send(socket, interface, ethertype, [0xff; 6], payload)
}

/// Sends one frame's payload to a MAC address.
pub(crate) fn send(
    socket: BorrowedFd<'_>,
    interface: u32,
    ethertype: u16,
    to: [u8; 6],
    payload: &[u8],
) -> io::Result<()> {
    let mut address = link_address(interface, ethertype.to_be());
    address.sll_halen = 6;
    address.sll_addr[..6].copy_from_slice(&to);
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

/// Lets only packets that the filter accepts into the socket's queue.
pub(crate) fn attach(socket: BorrowedFd<'_>, filter: &[libc::sock_filter]) -> io::Result<()> {
    let program = libc::sock_fprog {
        len: filter.len() as u16,
        filter: filter.as_ptr().cast_mut(),
    };
    // SAFETY: the kernel copies the filter, which outlives the call, and does not write to it.
    let set = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_FILTER,
            std::ptr::from_ref(&program).cast(),
            size_of::<libc::sock_fprog>() as libc::socklen_t,
        )
    };
    match set {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Lets the interface hear every multicast frame for as long as the socket is open.
pub(crate) fn hear_all_multicast(socket: BorrowedFd<'_>, interface: u32) -> io::Result<()> {
    let mut wanted = zeroed!(libc::packet_mreq);
    wanted.mr_ifindex = interface as libc::c_int;
    wanted.mr_type = libc::PACKET_MR_ALLMULTI as libc::c_ushort;
    // SAFETY: a packet_mreq of its own size.
    let set = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_ADD_MEMBERSHIP,
            std::ptr::from_ref(&wanted).cast(),
            size_of::<libc::packet_mreq>() as libc::socklen_t,
        )
    };
    match set {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn link_address(interface: u32, protocol: u16) -> libc::sockaddr_ll {
    let mut address = zeroed!(libc::sockaddr_ll);
    address.sll_family = libc::AF_PACKET as libc::c_ushort;
    address.sll_protocol = protocol;
    address.sll_ifindex = interface as libc::c_int;
    address
}
