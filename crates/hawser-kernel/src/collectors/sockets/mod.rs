//! Sockets of this network namespace, by `sock_diag(7)`: of UDP buffers in force, queue, drops and owner, of TCP what
//! [`served`] counts.

mod owners;
pub(crate) mod served;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use hawser_model::sockets::SocketFacts;
use hawser_model::units::{Bytes, Packets};
use nix::errno::Errno;
use nix::sys::socket::SockProtocol;

use crate::KernelError;
use crate::netlink::{Netlink, find, u32_at};

const SOCK_DIAG_BY_FAMILY: u16 = 20;
const INET_DIAG_SKMEMINFO: u16 = 7;
/// `struct inet_diag_msg`.
const DIAG_MESSAGE: usize = 72;
/// Where it has the local address.
const LOCAL: usize = 8;

/// The UDP and UDP-Lite sockets of the calling thread's network namespace, with their owners.
///
/// # Errors
/// When the kernel has no `udp_diag`, or refuses it.
pub fn udp_sockets() -> Result<Vec<SocketFacts>, KernelError> {
    let mut sockets = SocketDiag::open()?.dump()?;
    owners::find(sockets.values_mut());
    Ok(sockets.into_values().collect())
}

/// Fills in which process holds a socket, as far as it may be looked into.
pub(crate) fn find_owner(socket: &mut SocketFacts) {
    owners::find(std::iter::once(socket));
}

/// A socket to ask for sockets on.
pub(crate) struct SocketDiag {
    netlink: Netlink,
}

impl SocketDiag {
    pub(crate) fn open() -> Result<Self, KernelError> {
        let netlink = Netlink::open(SockProtocol::NetlinkSockDiag)?;
        Ok(Self { netlink })
    }

    /// All sockets by inode, without their owners.
    pub(crate) fn dump(&mut self) -> Result<BTreeMap<u64, SocketFacts>, KernelError> {
        let mut all = BTreeMap::new();
        for protocol in [libc::IPPROTO_UDP, libc::IPPROTO_UDPLITE] {
            for family in [libc::AF_INET, libc::AF_INET6] {
                match self.family(family as u8, protocol as u8) {
                    Ok(sockets) => all.extend(sockets),
                    // UDP-Lite may be left out of a kernel; UDP may not.
                    Err(KernelError::Netlink { source, .. })
                        if protocol == libc::IPPROTO_UDPLITE
                            && source.raw_os_error() == Some(Errno::ENOENT as i32) => {}
                    Err(other) => return Err(other),
                }
            }
        }
        Ok(all)
    }

    fn family(
        &mut self,
        family: u8,
        protocol: u8,
    ) -> Result<BTreeMap<u64, SocketFacts>, KernelError> {
        self.netlink.dump(
            "SOCK_DIAG_BY_FAMILY",
            SOCK_DIAG_BY_FAMILY,
            &request(family, protocol, INET_DIAG_SKMEMINFO, u32::MAX),
            BTreeMap::new,
            |sockets, message| {
                if let Some(socket) = decode(message) {
                    sockets.insert(socket.inode, socket);
                }
            },
        )
    }
}

/// `struct inet_diag_req_v2` for the sockets in these states (a bit each), with this one extension.
fn request(family: u8, protocol: u8, extension: u16, states: u32) -> [u8; 56] {
    let mut request = [0; 56];
    request[0] = family;
    request[1] = protocol;
    request[2] = 1 << (extension - 1);
    request[4..8].copy_from_slice(&states.to_ne_bytes());
    request
}

/// An address of a socket, at this place of `struct inet_diag_msg`.
fn address_at(message: &[u8], offset: usize) -> Option<IpAddr> {
    let bytes: [u8; 16] = *message.get(offset..)?.first_chunk()?;
    Some(match i32::from(*message.first()?) {
        libc::AF_INET => IpAddr::V4(Ipv4Addr::from(*bytes.first_chunk::<4>()?)),
        _ => IpAddr::V6(Ipv6Addr::from(bytes)),
    })
}

/// The sockets that dropped between two dumps, `drops` being the gain, with their owners; those
/// of this process are left out, since it reports its own.
pub(crate) fn dropped_between(
    before: &BTreeMap<u64, SocketFacts>,
    after: BTreeMap<u64, SocketFacts>,
) -> Vec<SocketFacts> {
    let mut dropped: Vec<SocketFacts> = after
        .into_values()
        .filter_map(|mut socket| {
            let start = before.get(&socket.inode).map_or(Packets(0), |b| b.drops);
            socket.drops = socket.drops.saturating_sub(start);
            (!socket.drops.is_zero()).then_some(socket)
        })
        .collect();
    owners::find(dropped.iter_mut());
    let own = std::process::id();
    dropped.retain(|socket| socket.pid != Some(own));
    dropped
}

fn decode(message: &[u8]) -> Option<SocketFacts> {
    let port = u16::from_be_bytes(*message.get(4..)?.first_chunk()?);
    let address = address_at(message, LOCAL)?;
    let inode = u64::from(u32_at(message, 68)?);
    let memory = find(message.get(DIAG_MESSAGE..)?, INET_DIAG_SKMEMINFO)?;
    // enum sk_meminfo_vars (linux/sock_diag.h).
    let word = |index: usize| u32_at(memory, index * 4).map(u64::from);
    Some(SocketFacts {
        inode,
        local: SocketAddr::new(address, port),
        process: None,
        pid: None,
        receive_queued: Bytes(word(0)?),
        receive_buffer: Bytes(word(1)?),
        send_buffer: Bytes(word(3)?),
        drops: Packets(word(8)?),
    })
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn a_socket_of_ours_is_found_with_its_owner_and_buffer() {
        let socket = UdpSocket::bind("[::1]:0").unwrap();
        nix::sys::socket::setsockopt(&socket.as_fd(), nix::sys::socket::sockopt::RcvBuf, &10_000)
            .unwrap();
        let found = udp_sockets().unwrap();
        let ours = found
            .iter()
            .find(|s| s.local == socket.local_addr().unwrap())
            .expect("the socket is listed");
        // The kernel doubles what is asked (socket(7)).
        assert_eq!(ours.receive_buffer, Bytes(20_000));
        assert_eq!(ours.pid, Some(std::process::id()));
        assert!(ours.process.is_some());
        assert_eq!(ours.drops, Packets(0));
    }

    #[test]
    fn only_what_was_dropped_in_between_is_told() {
        let socket = |inode, drops| SocketFacts {
            inode,
            local: ([127, 0, 0, 1], 5405).into(),
            process: None,
            pid: None,
            receive_buffer: Bytes(212_992),
            send_buffer: Bytes(212_992),
            receive_queued: Bytes(0),
            drops: Packets(drops),
        };
        // Inodes that no socket has: nobody is found to own them.
        let (old, new, quiet) = (u64::MAX, u64::MAX - 1, u64::MAX - 2);
        let before = BTreeMap::from([(old, socket(old, 5)), (quiet, socket(quiet, 9))]);
        let after = BTreeMap::from([
            (old, socket(old, 12)),
            (new, socket(new, 3)),
            (quiet, socket(quiet, 9)),
        ]);
        let dropped = dropped_between(&before, after);
        assert_eq!(dropped, [socket(new, 3), socket(old, 7)]);
    }
}
