//! What routers say of a socket's packets: its error queue (`IP_RECVERR`, ip(7)). The kernel puts only ICMP messages
//! there that quote a packet of this very socket; their senders are not proven.

use std::io::IoSliceMut;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use hawser_model::units::Mtu;
use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, setsockopt, sockopt,
};
use socket2::Socket;

/// `icmp.h`, `icmpv6.h`: destination unreachable, fragmentation needed; packet too big; time exceeded.
const UNREACHABLE: u8 = 3;
const FRAGMENTATION_NEEDED: u8 = 4;
const EXCEEDED: u8 = 11;
const V6_TOO_BIG: u8 = 2;
const V6_EXCEEDED: u8 = 3;

/// What a router said of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// It is larger than the next hop takes.
    TooBig(Mtu),
    /// Its hop limit ended here.
    Expired,
}

/// Who said what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) from: IpAddr,
    pub(super) said: Said,
}

/// Has the kernel keep ICMP messages about the socket's packets.
pub(super) fn keep(socket: &Socket, v4: bool) -> nix::Result<()> {
    match v4 {
        true => setsockopt(&socket.as_fd(), sockopt::Ipv4RecvErr, &true),
        false => setsockopt(&socket.as_fd(), sockopt::Ipv6RecvErr, &true),
    }
}

/// Takes what was kept, without waiting. A socket with something kept is always ready, so this is done whenever it is.
pub(super) fn take(socket: BorrowedFd<'_>) -> Vec<Message> {
    let mut messages = Vec::new();
    let mut control = nix::cmsg_space!(libc::sock_extended_err, libc::sockaddr_in6);
    // The quoted packet says nothing that is not known.
    let mut quoted = [0; 64];
    loop {
        let mut into = [IoSliceMut::new(&mut quoted)];
        let flags = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
        let read =
            recvmsg::<SockaddrStorage>(socket.as_raw_fd(), &mut into, Some(&mut control), flags);
        let Ok(read) = read else {
            return messages;
        };
        messages.extend(
            read.cmsgs()
                .into_iter()
                .flatten()
                .filter_map(|c| decode(&c)),
        );
    }
}

fn decode(control: &ControlMessageOwned) -> Option<Message> {
    match control {
        ControlMessageOwned::Ipv4RecvErr(error, Some(from)) => Some(Message {
            from: IpAddr::V4(u32::from_be(from.sin_addr.s_addr).into()),
            said: match (error.ee_origin, error.ee_type, error.ee_code) {
                (libc::SO_EE_ORIGIN_ICMP, UNREACHABLE, FRAGMENTATION_NEEDED) => {
                    Said::TooBig(Mtu(error.ee_info))
                }
                (libc::SO_EE_ORIGIN_ICMP, EXCEEDED, _) => Said::Expired,
                _ => return None,
            },
        }),
        ControlMessageOwned::Ipv6RecvErr(error, Some(from)) => Some(Message {
            from: IpAddr::V6(from.sin6_addr.s6_addr.into()),
            said: match (error.ee_origin, error.ee_type) {
                (libc::SO_EE_ORIGIN_ICMP6, V6_TOO_BIG) => Said::TooBig(Mtu(error.ee_info)),
                (libc::SO_EE_ORIGIN_ICMP6, V6_EXCEEDED) => Said::Expired,
                _ => return None,
            },
        }),
        _ => None,
    }
}
