//! What a host hears of multicast control on a link: queries for memberships (IGMP, MLD), and
//! whether packets of a group that nobody joined come as well, as they do where a switch floods.
//!
//! A querier repeats its question every 125 s (RFC 3376, 8.2), and a switch that lost it stops a group
//! only after 260 s. But a querier that hears a host leave a group asks at once whether others are
//! still members (RFC 2236, 3; RFC 3810, 7.4.1): so a group is joined, left, and the question awaited.

use std::collections::BTreeSet;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use hawser_model::names::InterfaceName;
use hawser_model::probe::{MulticastHeard, QueryHeard};
use hawser_model::traffic::{PROBE_MAGIC, RunKey};
use hawser_model::units::{Nanos, Packets};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{MsgFlags, recv};
use socket2::{Socket, Type};

use crate::error::WireError;
use crate::socket;
use crate::sys::link;

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86DD;

/// The discard service (RFC 863): what nobody joined nobody reads.
const PORT: u16 = 9;

/// Packets to a group that nobody joined: more than a few lost ones cannot hide a switch that floods.
const UNJOINED: u64 = 20;

/// What is under way when the listening ends is given this long.
const LAST: Duration = Duration::from_millis(30);

/// Larger than any query, and than the head of any other packet.
const HEAD: usize = 2_048;

/// A socket that has been hearing multicast control since it was opened.
pub struct MulticastListener {
    socket: OwnedFd,
    unjoined: IpAddr,
    key: RunKey,
}

impl MulticastListener {
    /// Begins to listen on the interface, to queries and to packets for the group `unjoined`.
    ///
    /// # Errors
    /// [`WireError::Call`] when the interface does not exist or the caller may not listen to
    /// frames (`CAP_NET_RAW`).
    pub fn open(
        interface: &InterfaceName,
        unjoined: IpAddr,
        key: RunKey,
    ) -> Result<Self, WireError> {
        let index = nix::net::if_::if_nametoindex(interface.as_str())
            .map_err(WireError::call("if_nametoindex", interface))?;
        let ethertype = match unjoined {
            IpAddr::V4(_) => ETHERTYPE_IPV4,
            IpAddr::V6(_) => ETHERTYPE_IPV6,
        };
        let socket = link::open(index, ethertype)
            .and_then(|socket| {
                link::attach(socket.as_fd(), &wanted(unjoined))?;
                if !over_a_bridge(interface) {
                    link::hear_all_multicast(socket.as_fd(), index)?;
                }
                Ok(socket)
            })
            .map_err(WireError::call("socket AF_PACKET", interface))?;
        Ok(Self {
            socket,
            unjoined,
            key,
        })
    }

    /// What was heard since, and within `wait` from now; a query ends the waiting.
    pub fn heard(self, wait: Duration) -> MulticastHeard {
        let since = Instant::now();
        let mut queries = BTreeSet::new();
        let mut unjoined_heard = 0;
        let mut last = false;
        loop {
            self.read(&mut queries, &mut unjoined_heard);
            let left = wait.saturating_sub(since.elapsed());
            if last {
                break;
            }
            last = !queries.is_empty() || left.is_zero();
            let pause = if last { LAST } else { left };
            let mut waiting = [PollFd::new(self.socket.as_fd(), PollFlags::POLLIN)];
            let timeout = PollTimeout::try_from(pause).unwrap_or(PollTimeout::MAX);
            match last {
                // Not woken by what comes meanwhile: all of it is read then.
                true => std::thread::sleep(pause),
                // An error here shows in the next read as well.
                false => drop(poll(&mut waiting, timeout)),
            }
        }
        MulticastHeard {
            queries: queries.into_iter().collect(),
            listened_after_leave: Nanos(since.elapsed().as_nanos() as u64),
            unjoined_sent: Packets::ZERO,
            unjoined_heard: Packets(unjoined_heard),
        }
    }

    fn read(&self, queries: &mut BTreeSet<QueryHeard>, unjoined: &mut u64) {
        let mut buffer = [0; HEAD];
        loop {
            let length = match recv(self.socket.as_raw_fd(), &mut buffer, MsgFlags::MSG_DONTWAIT) {
                Ok(length) => length,
                // A link that went down says so once; frames from before are behind it.
                Err(Errno::ENETDOWN | Errno::EINTR) => continue,
                Err(_) => return,
            };
            let packet = &buffer[..length.min(HEAD)];
            if let Some(query) = query(packet) {
                queries.insert(query);
            } else if is_probe(packet, self.unjoined, self.key) {
                *unjoined += 1;
            }
        }
    }
}

/// Sends packets to a group that nobody has joined, out of the interface that has `source`, and
/// says how many.
///
/// # Errors
/// [`WireError::Call`] when the kernel refuses the socket or a packet.
pub fn send_unjoined(source: IpAddr, group: IpAddr, key: RunKey) -> Result<Packets, WireError> {
    let socket: Socket = socket::bound(Type::DGRAM, socket::scoped(source, 0, source)?)?;
    socket::prepare_multicast(&socket, source, 1)
        .map_err(WireError::call("setsockopt MULTICAST_IF", source))?;
    let to: SocketAddr = socket::scoped(group, PORT, source)?;
    let mut payload = PROBE_MAGIC.to_vec();
    payload.extend(key.0.to_be_bytes());
    for _ in 0..UNJOINED {
        socket
            .send_to(&payload, &to.into())
            .map_err(WireError::call("sendto", to))?;
    }
    Ok(Packets(UNJOINED))
}

/// Whether it is a bridge of this host's, or a VLAN on one. A bridge that is told to hear all multicast hands
/// all of it up (`IFF_ALLMULTI` in `br_handle_frame_finish`, net/bridge/br_input.c), so listening would undo the very
/// filter that is looked for. Its ports hear everything anyway.
fn over_a_bridge(interface: &InterfaceName) -> bool {
    let folder = Path::new("/sys/class/net").join(interface.as_str());
    let lower = |entry: &str| entry.strip_prefix("lower_").map(InterfaceName::from);
    let vlan = fs::read_to_string(folder.join("uevent"));
    let vlan = vlan.is_ok_and(|text| text.lines().any(|line| line == "DEVTYPE=vlan"));
    folder.join("bridge").exists()
        || vlan
            && fs::read_dir(folder).is_ok_and(|entries| {
                let names = entries.flatten().map(|e| e.file_name());
                names
                    .filter_map(|name| lower(name.to_str()?))
                    .any(|below| over_a_bridge(&below))
            })
}

/// A filter (packet(7), `SO_ATTACH_FILTER`) for queries and packets to the group: whole packets
/// of the family pass this socket, and its queue must not fill with the flow that is measured.
fn wanted(group: IpAddr) -> Vec<libc::sock_filter> {
    const LOAD_BYTE: u16 = 0x30;
    const LOAD_WORD: u16 = 0x20;
    const JUMP_IF_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    let op = |code, k, jt, jf| libc::sock_filter { code, jt, jf, k };
    // Protocol and last word of the destination, where they are in each header.
    let (protocol, control, address, last) = match group {
        IpAddr::V4(v4) => (9, 2, 16, u32::from(v4)),
        IpAddr::V6(v6) => (6, 0, 36, u128::from(v6) as u32),
    };
    vec![
        op(LOAD_BYTE, protocol, 0, 0),
        op(JUMP_IF_EQUAL, control, 2, 0),
        op(LOAD_WORD, address, 0, 0),
        op(JUMP_IF_EQUAL, last, 0, 1),
        op(RETURN, HEAD as u32, 0, 0),
        op(RETURN, 0, 0, 0),
    ]
}

/// Reads a membership query of either family; absent for anything else. Any bytes are fine.
fn query(packet: &[u8]) -> Option<QueryHeard> {
    match packet.first()? >> 4 {
        4 => igmp_query(packet),
        6 => mld_query(packet),
        _ => None,
    }
}

/// RFC 3376, 7.1: eight bytes with a response time of zero are version 1, others of eight bytes
/// version 2, longer ones version 3. Ethernet may pad what follows.
fn igmp_query(packet: &[u8]) -> Option<QueryHeard> {
    const IGMP: u8 = 2;
    const QUERY: u8 = 0x11;
    let header = usize::from(packet[0] & 0xf) * 4;
    let whole = usize::from(u16::from_be_bytes(*packet.get(2..)?.first_chunk()?));
    let message = packet.get(header..whole.min(packet.len()))?;
    if *packet.get(9)? != IGMP || *message.first()? != QUERY || message.len() < 8 {
        return None;
    }
    let version = match (message.len(), message[1]) {
        (8, 0) => 1,
        (8, _) => 2,
        _ => 3,
    };
    Some(QueryHeard {
        querier: Ipv4Addr::from(*packet.get(12..)?.first_chunk::<4>()?).into(),
        version,
    })
}

/// RFC 3810, 8.1: 24 bytes are version 1, more are version 2. It comes behind a hop-by-hop header
/// with the router alert.
fn mld_query(packet: &[u8]) -> Option<QueryHeard> {
    const HEADER: usize = 40;
    const ICMPV6: u8 = 58;
    const QUERY: u8 = 130;
    let payload = usize::from(u16::from_be_bytes(*packet.get(4..)?.first_chunk()?));
    let rest = packet.get(HEADER..(HEADER + payload).min(packet.len()))?;
    if packet[6] != 0 || *rest.first()? != ICMPV6 {
        return None;
    }
    let options = (usize::from(*rest.get(1)?) + 1) * 8;
    let message = rest.get(options..)?;
    if *message.first()? != QUERY || message.len() < 24 {
        return None;
    }
    Some(QueryHeard {
        querier: Ipv6Addr::from(*packet.get(8..)?.first_chunk::<16>()?).into(),
        version: if message.len() == 24 { 1 } else { 2 },
    })
}

/// Whether it is one of [`send_unjoined`]'s packets.
fn is_probe(packet: &[u8], group: IpAddr, key: RunKey) -> bool {
    let (header, destination) = match group {
        IpAddr::V4(v4) => (
            packet.first().map_or(0, |b| usize::from(b & 0xf) * 4),
            packet.get(16..20) == Some(&v4.octets()[..]),
        ),
        IpAddr::V6(v6) => (40, packet.get(24..40) == Some(&v6.octets()[..])),
    };
    let payload = packet.get(header + 8..).unwrap_or(&[]);
    let own = payload
        .strip_prefix(&PROBE_MAGIC[..])
        .is_some_and(|rest| rest.starts_with(&key.0.to_be_bytes()));
    destination && own
}

#[cfg(test)]
mod tests {
    use super::*;

    fn igmp(message: &[u8], padding: usize) -> Vec<u8> {
        let mut packet = vec![
            0x46,
            0xc0,
            0,
            24 + message.len() as u8,
            0,
            0,
            0,
            0,
            1,
            2,
            0,
            0,
        ];
        packet.extend([10, 0, 0, 1, 224, 0, 0, 1, 0x94, 4, 0, 0]);
        packet.extend(message);
        packet.extend(vec![0; padding]);
        packet
    }

    #[test]
    fn versions_are_told_by_length_and_padding_is_not_counted() {
        let version = |message: &[u8], padding| query(&igmp(message, padding)).map(|q| q.version);
        assert_eq!(version(&[0x11, 0, 0, 0, 0, 0, 0, 0], 14), Some(1));
        assert_eq!(version(&[0x11, 100, 0, 0, 0, 0, 0, 0], 14), Some(2));
        let third = [0x11, 100, 0, 0, 0, 0, 0, 0, 2, 125, 0, 0];
        assert_eq!(version(&third, 10), Some(3));
        assert_eq!(
            version(&[0x16, 0, 0, 0, 239, 1, 2, 3], 14),
            None,
            "a report"
        );
        assert_eq!(
            query(&igmp(&third, 0)).unwrap().querier,
            IpAddr::from([10, 0, 0, 1])
        );
        for cut in 0..30 {
            // Must not panic.
            let _ = query(&igmp(&third, 0)[..cut]);
        }
    }

    #[test]
    fn a_query_for_ipv6_is_behind_its_hop_by_hop_header() {
        let mut packet = vec![0x60, 0, 0, 0, 0, 36, 0, 1];
        packet.extend("fe80::1".parse::<Ipv6Addr>().unwrap().octets());
        packet.extend("ff02::1".parse::<Ipv6Addr>().unwrap().octets());
        packet.extend([58, 0, 5, 2, 0, 0, 1, 0]);
        packet.extend([130, 0]);
        packet.extend([0; 26]);
        let heard = query(&packet).expect("a query");
        assert_eq!(
            (heard.version, heard.querier.to_string()),
            (2, "fe80::1".to_owned())
        );
        packet[5] = 32;
        assert_eq!(query(&packet).unwrap().version, 1);
        for cut in 0..packet.len() {
            let _ = query(&packet[..cut]);
        }
    }
}
