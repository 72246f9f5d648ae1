//! Socket options as plain C values.

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, BorrowedFd};

use hawser_model::traffic::StreamState;
use hawser_model::units::{Bytes, Nanos, Packets};
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

/// `struct tcp_info` of `include/uapi/linux/tcp.h` up to `tcpi_rcv_wnd`, as words of 32 bits:
/// libc's knows none of the newer fields. An older kernel leaves the end of it zero.
const TCP_INFO_WORDS: usize = 59;

/// `TCPI_OPT_SACK` of `tcpi_options`.
const SACK: u8 = 2;

/// Reads a TCP connection's state.
pub(crate) fn stream(socket: BorrowedFd<'_>) -> io::Result<StreamState> {
    let mut info = [0_u32; TCP_INFO_WORDS];
    get(socket, libc::IPPROTO_TCP, libc::TCP_INFO, &mut info)?;
    let long = |word: usize| u64::from(info[word]) | u64::from(info[word + 1]) << 32;
    let long = |word: usize| match cfg!(target_endian = "little") {
        true => long(word),
        false => long(word).rotate_left(32),
    };
    let micros = |n: u64| Nanos(n.saturating_mul(1_000));
    let mut name = [0_u8; 16];
    // A name that cannot be read stays empty; the numbers are worth as much without it.
    let _ = get(socket, libc::IPPROTO_TCP, libc::TCP_CONGESTION, &mut name);
    let segment = u64::from(info[4]);
    let least = info[37];
    Ok(StreamState {
        congestion: String::from_utf8_lossy(&name)
            .trim_end_matches('\0')
            .to_owned(),
        segment: Bytes(segment),
        round_trip: micros(u64::from(info[17])),
        // The kernel's "none yet".
        least_round_trip: micros(u64::from(if least == u32::MAX { 0 } else { least })),
        congestion_window: Bytes(u64::from(info[20]) * segment),
        receive_window: Bytes(u64::from(info[57])),
        busy: micros(long(42)),
        receive_window_limited: micros(long(44)),
        send_buffer_limited: micros(long(46)),
        segments: Packets(u64::from(info[39])),
        retransmits: Packets(u64::from(info[25])),
        needless: Packets(u64::from(info[54])),
        // The second byte of the second word.
        selective: Some(info[1].to_ne_bytes()[1] & SACK != 0),
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
