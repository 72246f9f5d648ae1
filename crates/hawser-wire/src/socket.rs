//! Opening a flow's sockets with what its specification asks of the kernel.

use std::io;
use std::net::{IpAddr, SocketAddr, SocketAddrV6};
use std::os::fd::AsFd;
use std::time::Duration;

use hawser_model::traffic::{FlowSpec, Transport};
use hawser_model::units::Bytes;
use nix::ifaddrs::getifaddrs;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use crate::error::{LARGEST_PAYLOAD, WireError};
use crate::packet::HEADER_BYTES;
use crate::sys::option;

/// A sender blocked by a full send buffer for longer than this counts the packet as refused
/// (`EAGAIN`), so that a stalled link cannot hold it for ever.
const SEND_TIMEOUT: Duration = Duration::from_secs(1);

/// A write to a stalled stream is tried again, so that the sender sees when its time is
/// over.
const STREAM_TIMEOUT: Duration = Duration::from_millis(20);

/// Rejects what no socket could do.
pub(crate) fn validate(spec: &FlowSpec) -> Result<(), WireError> {
    for other in [spec.destination, spec.receiver] {
        if other.is_ipv4() != spec.source.is_ipv4() {
            return Err(WireError::Families(spec.source, other));
        }
    }
    if spec.membership.is_some() && !spec.destination.is_multicast() {
        return Err(WireError::NotMulticast(spec.destination));
    }
    if spec.transport == Transport::Tcp && (spec.echo || spec.destination.is_multicast()) {
        return Err(WireError::Stream);
    }
    let largest = match spec.transport {
        Transport::Udp => LARGEST_PAYLOAD,
        // Only the size of one write.
        Transport::Tcp => u32::MAX,
    };
    if spec.payload < HEADER_BYTES as u32 || spec.payload > largest {
        return Err(WireError::Payload(spec.payload));
    }
    Ok(())
}

/// The index of the interface that has `address`.
pub(crate) fn interface_of(address: IpAddr) -> Result<u32, WireError> {
    let has = |storage: &nix::sys::socket::SockaddrStorage| match address {
        IpAddr::V4(v4) => storage.as_sockaddr_in().is_some_and(|a| a.ip() == v4),
        IpAddr::V6(v6) => storage.as_sockaddr_in6().is_some_and(|a| a.ip() == v6),
    };
    let mut interfaces = getifaddrs().map_err(WireError::call("getifaddrs", address))?;
    let found = interfaces
        .find(|i| i.address.as_ref().is_some_and(has))
        .ok_or(WireError::NoInterface(address))?;
    nix::net::if_::if_nametoindex(found.interface_name.as_str())
        .map_err(WireError::call("if_nametoindex", found.interface_name))
}

/// A socket address; for an IPv6 link-local or multicast `ip` with the interface of `local`
/// as its scope, without which it would name no link (RFC 4007).
pub(crate) fn scoped(ip: IpAddr, port: u16, local: IpAddr) -> Result<SocketAddr, WireError> {
    match ip {
        IpAddr::V6(v6) if v6.is_unicast_link_local() || v6.is_multicast() => {
            let scope = interface_of(local)?;
            Ok(SocketAddrV6::new(v6, port, 0, scope).into())
        }
        _ => Ok(SocketAddr::new(ip, port)),
    }
}

/// A socket of the family of `bound`, bound to it.
pub(crate) fn bound(kind: Type, bound: SocketAddr) -> Result<Socket, WireError> {
    let protocol = if kind == Type::STREAM {
        Protocol::TCP
    } else {
        Protocol::UDP
    };
    let socket = Socket::new(Domain::for_address(bound), kind, Some(protocol))
        .map_err(WireError::call("socket", bound))?;
    if bound.is_ipv6() {
        socket
            .set_only_v6(true)
            .map_err(WireError::call("setsockopt IPV6_V6ONLY", bound))?;
    }
    socket
        .bind(&SockAddr::from(bound))
        .map_err(WireError::call("bind", bound))?;
    Ok(socket)
}

/// The port a socket is bound to.
pub(crate) fn port(socket: &Socket) -> Result<u16, WireError> {
    let local = socket
        .local_addr()
        .map_err(WireError::call("getsockname", "own socket"))?;
    Ok(local.as_socket().map_or(0, |a| a.port()))
}

/// The receive buffer, when the specification asks for one.
pub(crate) fn ask_receive_buffer(socket: &Socket, asked: Option<Bytes>) -> Result<(), WireError> {
    asked.map_or(Ok(()), |bytes| {
        socket
            .set_recv_buffer_size(bytes.0 as usize)
            .map_err(WireError::call("setsockopt SO_RCVBUF", bytes.0))
    })
}

/// Buffer, fragmentation and multicast options of the sending side.
pub(crate) fn prepare_sender(socket: &Socket, spec: &FlowSpec) -> Result<(), WireError> {
    if let Some(bytes) = spec.send_buffer {
        socket
            .set_send_buffer_size(bytes.0 as usize)
            .map_err(WireError::call("setsockopt SO_SNDBUF", bytes.0))?;
    }
    if let Some(name) = &spec.congestion {
        socket
            .set_tcp_congestion(name.as_bytes())
            .map_err(WireError::call("setsockopt TCP_CONGESTION", name))?;
    }
    let timeout = match spec.transport {
        Transport::Udp => SEND_TIMEOUT,
        Transport::Tcp => STREAM_TIMEOUT,
    };
    socket
        .set_write_timeout(Some(timeout))
        .map_err(WireError::call("setsockopt SO_SNDTIMEO", spec.source))?;
    if spec.transport == Transport::Udp {
        let discovery = if spec.dont_fragment {
            Discovery::Do
        } else {
            Discovery::Dont
        };
        set_discovery(socket, spec.source.is_ipv4(), discovery)
            .map_err(WireError::call("setsockopt MTU_DISCOVER", spec.source))?;
    }
    if spec.destination.is_multicast() {
        let ttl = spec.membership.as_ref().map_or(1, |m| m.ttl.max(1));
        prepare_multicast(socket, spec.source, u32::from(ttl))
            .map_err(WireError::call("setsockopt MULTICAST_IF", spec.source))?;
    }
    Ok(())
}

/// Sends multicast out of the interface that has `source`, and not back to this host.
pub(crate) fn prepare_multicast(socket: &Socket, source: IpAddr, ttl: u32) -> io::Result<()> {
    match source {
        IpAddr::V4(v4) => {
            socket.set_multicast_if_v4(&v4)?;
            socket.set_multicast_loop_v4(false)?;
            socket.set_multicast_ttl_v4(ttl)
        }
        IpAddr::V6(_) => {
            let interface = interface_of(source).map_err(io::Error::other)?;
            socket.set_multicast_if_v6(interface)?;
            socket.set_multicast_loop_v6(false)?;
            socket.set_multicast_hops_v6(ttl)
        }
    }
}

/// How a socket treats packets larger than the path (`IP_MTU_DISCOVER`, ip(7)).
#[derive(Clone, Copy, Debug)]
pub(crate) enum Discovery {
    /// No don't-fragment bit; cut here or on the way.
    Dont,
    /// Don't-fragment bit; larger than the known path is refused with `EMSGSIZE`.
    Do,
    /// Don't-fragment bit; larger than the interface is refused, what was learned of the
    /// path is ignored.
    Probe,
}

/// Sets how the socket treats packets larger than the path.
pub(crate) fn set_discovery(socket: &Socket, v4: bool, discovery: Discovery) -> io::Result<()> {
    let (level, name) = if v4 {
        (libc::IPPROTO_IP, libc::IP_MTU_DISCOVER)
    } else {
        (libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER)
    };
    // IPV6_PMTUDISC_* have the same numbers (include/uapi/linux/in6.h).
    let value = match discovery {
        Discovery::Dont => libc::IP_PMTUDISC_DONT,
        Discovery::Do => libc::IP_PMTUDISC_DO,
        Discovery::Probe => libc::IP_PMTUDISC_PROBE,
    };
    option::set_int(socket.as_fd(), level, name, value)
}

/// The MTU the kernel believes the path of a connected socket has (`IP_MTU`).
pub(crate) fn known_mtu(socket: &Socket, v4: bool) -> io::Result<u32> {
    let (level, name) = if v4 {
        (libc::IPPROTO_IP, libc::IP_MTU)
    } else {
        (libc::IPPROTO_IPV6, libc::IPV6_MTU)
    };
    let mtu = option::get_int(socket.as_fd(), level, name)?;
    Ok(u32::try_from(mtu).unwrap_or(0))
}

/// Joins the flow's group on the interface that has the receiver's address.
///
/// With a source the membership is source-specific (IGMPv3, MLDv2). Which version of IGMP
/// is spoken on the link is the kernel's matter: it follows the querier it hears.
pub(crate) fn join(socket: &Socket, spec: &FlowSpec) -> Result<(), WireError> {
    let group = spec.destination;
    let interface = interface_of(spec.receiver)?;
    let source = spec.membership.as_ref().and_then(|m| m.source);
    let named = WireError::call("setsockopt multicast join", group);
    match (group, source) {
        (_, Some(source)) => {
            option::join_source(socket.as_fd(), group, source, interface).map_err(named)?;
        }
        (IpAddr::V4(v4), None) => {
            let on = socket2::InterfaceIndexOrAddress::Index(interface);
            socket.join_multicast_v4_n(&v4, &on).map_err(named)?;
        }
        (IpAddr::V6(v6), None) => socket.join_multicast_v6(&v6, interface).map_err(named)?,
    }
    // Otherwise a socket also gets what other sockets of the host have joined (ip(7)).
    let only_own = if group.is_ipv4() {
        socket.set_multicast_all_v4(false)
    } else {
        socket.set_multicast_all_v6(false)
    };
    only_own.map_err(WireError::call("setsockopt MULTICAST_ALL", group))
}
