//! Socket options as plain C values.

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, BorrowedFd};

use socket2::SockAddr;

use super::zeroed;

/// Sets an option whose value is a C int.
pub(crate) fn set_int(
    socket: BorrowedFd<'_>,
    level: libc::c_int,
    name: libc::c_int,
    value: libc::c_int,
) -> io::Result<()> {
    set(socket, level, name, &value)
}

/// Reads an option whose value is a C int.
pub(crate) fn get_int(
    socket: BorrowedFd<'_>,
    level: libc::c_int,
    name: libc::c_int,
) -> io::Result<libc::c_int> {
    let mut value = 0;
    get(socket, level, name, &mut value)?;
    Ok(value)
}

/// A socket's memory, from `SO_MEMINFO` (`include/uapi/linux/sock_diag.h`).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MemoryInfo {
    /// Bytes charged for queued packets, `SK_MEMINFO_RMEM_ALLOC`.
    pub(crate) receive_queued: u32,
    /// `SK_MEMINFO_RCVBUF`.
    pub(crate) receive_buffer: u32,
    /// `SK_MEMINFO_SNDBUF`.
    pub(crate) send_buffer: u32,
    /// `SK_MEMINFO_DROPS`.
    pub(crate) drops: u32,
}

/// Reads a socket's memory.
pub(crate) fn memory(socket: BorrowedFd<'_>) -> io::Result<MemoryInfo> {
    let mut values = [0_u32; 9];
    get(socket, libc::SOL_SOCKET, libc::SO_MEMINFO, &mut values)?;
    Ok(MemoryInfo {
        receive_queued: values[0],
        receive_buffer: values[1],
        send_buffer: values[3],
        drops: values[8],
    })
}

/// What a TCP connection says of itself (`TCP_INFO`, tcp(7)).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StreamInfo {
    /// `tcpi_snd_mss`.
    pub(crate) segment: u32,
    /// `tcpi_total_retrans`.
    pub(crate) retransmits: u32,
}

/// Reads a TCP connection's state.
pub(crate) fn stream(socket: BorrowedFd<'_>) -> io::Result<StreamInfo> {
    let mut info = zeroed!(libc::tcp_info);
    get(socket, libc::IPPROTO_TCP, libc::TCP_INFO, &mut info)?;
    Ok(StreamInfo {
        segment: info.tcpi_snd_mss,
        retransmits: info.tcpi_total_retrans,
    })
}

/// Joins `group` on an interface for packets of `source` alone (RFC 3678, both families).
pub(crate) fn join_source(
    socket: BorrowedFd<'_>,
    group: IpAddr,
    source: IpAddr,
    interface: u32,
) -> io::Result<()> {
    let storage = |ip: IpAddr| {
        let address = SockAddr::from(std::net::SocketAddr::new(ip, 0));
        let mut storage = zeroed!(libc::sockaddr_storage);
        // SAFETY: an IP socket address is shorter than a sockaddr_storage; the two
        // allocations are distinct.
        unsafe {
            std::ptr::copy_nonoverlapping(
                address.as_ptr().cast::<u8>(),
                std::ptr::from_mut(&mut storage).cast::<u8>(),
                address.len() as usize,
            );
        }
        storage
    };
    let request = GroupSource {
        interface,
        group: storage(group),
        source: storage(source),
    };
    let level = if group.is_ipv4() {
        libc::IPPROTO_IP
    } else {
        libc::IPPROTO_IPV6
    };
    set(socket, level, MCAST_JOIN_SOURCE_GROUP, &request)
}

/// `include/uapi/linux/in.h`.
const MCAST_JOIN_SOURCE_GROUP: libc::c_int = 46;

/// `struct group_source_req` of `include/uapi/linux/in.h`.
#[repr(C)]
struct GroupSource {
    interface: u32,
    group: libc::sockaddr_storage,
    source: libc::sockaddr_storage,
}

fn set<T>(
    socket: BorrowedFd<'_>,
    level: libc::c_int,
    name: libc::c_int,
    value: &T,
) -> io::Result<()> {
    // SAFETY: the pointer leads to a value of the size that is passed with it.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            std::ptr::from_ref(value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// `T` is a plain C value: any bytes the kernel writes are valid for it.
fn get<T: Copy>(
    socket: BorrowedFd<'_>,
    level: libc::c_int,
    name: libc::c_int,
    value: &mut T,
) -> io::Result<()> {
    let mut length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes, the size of the value; all callers
    // in this file pass integers or structures of integers.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            level,
            name,
            std::ptr::from_mut(value).cast(),
            &raw mut length,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
