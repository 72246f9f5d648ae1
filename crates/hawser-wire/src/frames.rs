//! Layer 2 by itself, where nearly no packet of a flow arrives: frames to everybody and frames to the receiver's own MAC
//! address, in turn. A switch that sends what is for an address to another port still lets the first kind through.
//!
//! The payload is that of a [hello](crate::hello), whose nonce says which kind it is.

use std::collections::BTreeSet;
use std::fs;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;

use hawser_model::names::{HostName, InterfaceName, LinkName};
use hawser_model::probe::FramesCounted;
use hawser_model::traffic::RunKey;
use hawser_model::units::{Nanos, Packets};
use nix::sys::socket::{LinkAddr, MsgFlags, recv, recvfrom};

use crate::clock;
use crate::error::WireError;
use crate::hello::{ETHERTYPE, Hello, encode, parse};
use crate::path_mtu::turn;
use crate::sys::link;

/// Every protocol (`ETH_P_ALL`, packet(7)).
const EVERY_PROTOCOL: u16 = 0x0003;

/// Frames of each kind: a few lost ones do not look like none.
const FRAMES: u64 = 20;

/// Between two pairs.
const PAUSE: Nanos = Nanos::from_millis(10);

/// What is under way when the listening ends is given this long.
const LAST: Nanos = Nanos::from_millis(30);

/// Larger than a hello.
const FRAME_BYTES: usize = 2_048;

/// Hears both kinds of frames on an interface, and any whose source is a certain MAC address.
pub struct FrameListener {
    interface: InterfaceName,
    mac: [u8; 6],
    key: RunKey,
    hellos: OwnedFd,
    every: OwnedFd,
    sent_before: u64,
}

impl FrameListener {
    /// Begins to listen on the interface; `mac` is the address whose frames are counted.
    ///
    /// # Errors
    /// [`WireError::Call`] when the interface does not exist, `mac` is no MAC address, or the caller may not listen to
    /// frames (`CAP_NET_RAW`).
    pub fn open(interface: &InterfaceName, mac: &str, key: RunKey) -> Result<Self, WireError> {
        let index = index_of(interface)?;
        let mac = mac_of(mac)?;
        let named = || WireError::call("socket AF_PACKET", interface);
        let every = link::open(index, EVERY_PROTOCOL).map_err(named())?;
        link::attach(every.as_fd(), &from(mac)).map_err(named())?;
        Ok(Self {
            interface: interface.clone(),
            mac,
            key,
            hellos: link::open(index, ETHERTYPE).map_err(named())?,
            every,
            sent_before: sent(interface),
        })
    }

    /// What was heard since.
    pub fn heard(self) -> FramesCounted {
        clock::wait_until(clock::now() + LAST);
        let sent = sent(&self.interface).saturating_sub(self.sent_before);
        let mut nonces = BTreeSet::new();
        let mut buffer = [0; FRAME_BYTES];
        while let Ok(length) = recv(self.hellos.as_raw_fd(), &mut buffer, MsgFlags::MSG_DONTWAIT) {
            let hello = parse(&buffer[..length.min(FRAME_BYTES)]);
            nonces.extend(hello.filter(|h| h.key == self.key).map(|h| h.nonce));
        }
        let mut from_watched = 0;
        let mut byte = [0; 1];
        // The descriptor does not wait (`SOCK_NONBLOCK`).
        while let Ok((_, from)) = recvfrom::<LinkAddr>(self.every.as_raw_fd(), &mut byte) {
            from_watched += u64::from(from.is_some_and(|from| self.watched(&from)));
        }
        let unicast = nonces.iter().filter(|nonce| *nonce & 1 == 1).count() as u64;
        FramesCounted {
            broadcast: Packets(nonces.len() as u64 - unicast),
            unicast: Packets(unicast),
            from_watched: Packets(from_watched),
            sent: Packets(sent),
        }
    }

    /// A frame that came in and has the address. What came before the filter was set may have neither.
    fn watched(&self, from: &LinkAddr) -> bool {
        from.pkttype() != libc::PACKET_OUTGOING && from.addr() == Some(self.mac)
    }
}

/// Sends frames to everybody and frames to `mac` in turn out of the interface. How many of each kind.
///
/// # Errors
/// [`WireError::Call`] when the interface does not exist, is down, `mac` is no MAC address, or the caller may not send
/// frames (`CAP_NET_RAW`).
pub fn send_in_turn(
    interface: &InterfaceName,
    from: &HostName,
    link_name: &LinkName,
    mac: &str,
    key: RunKey,
) -> Result<Packets, WireError> {
    let index = index_of(interface)?;
    let mac = mac_of(mac)?;
    let socket =
        link::open(index, ETHERTYPE).map_err(WireError::call("socket AF_PACKET", interface))?;
    let began = clock::now();
    for number in 0..FRAMES {
        clock::wait_until(began + Nanos(PAUSE.0 * number));
        let mut both = [(0, [0xff; 6]), (1, mac)];
        if turn(number) {
            both.reverse();
        }
        for (kind, to) in both {
            let hello = Hello {
                key,
                nonce: (began.0 & !1).wrapping_add(2 * number) | kind,
                from: from.clone(),
                link: link_name.clone(),
            };
            link::send(socket.as_fd(), index, ETHERTYPE, to, &encode(&hello))
                .map_err(WireError::call("sendto AF_PACKET", interface))?;
        }
    }
    Ok(Packets(FRAMES))
}

/// Six bytes in colon form, as a host's facts have it.
fn mac_of(text: &str) -> Result<[u8; 6], WireError> {
    let mut bytes = text.split(':').map(|byte| match byte.len() {
        2 if byte.bytes().all(|b| b.is_ascii_hexdigit()) => u8::from_str_radix(byte, 16).ok(),
        _ => None,
    });
    let mut mac = [0; 6];
    let read = mac.iter_mut().all(|byte| match bytes.next().flatten() {
        Some(value) => {
            *byte = value;
            true
        }
        None => false,
    });
    match read && bytes.next().is_none() {
        true => Ok(mac),
        false => Err(WireError::call("parse", "a MAC address")(
            std::io::Error::from(std::io::ErrorKind::InvalidInput),
        )),
    }
}

/// A filter (packet(7), `SO_ATTACH_FILTER`) for frames from an Ethernet address (`SKF_LL_OFF`, linux/filter.h).
fn from(mac: [u8; 6]) -> Vec<libc::sock_filter> {
    const LOAD_WORD: u16 = 0x20;
    const LOAD_HALF: u16 = 0x28;
    const JUMP_IF_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    const LINK_HEADER: u32 = -0x20_0000_i32 as u32;
    let op = |code, k, jt, jf| libc::sock_filter { code, jt, jf, k };
    let [a, b, c, d, e, f] = mac;
    vec![
        op(LOAD_WORD, LINK_HEADER + 6, 0, 0),
        op(JUMP_IF_EQUAL, u32::from_be_bytes([a, b, c, d]), 0, 3),
        op(LOAD_HALF, LINK_HEADER + 10, 0, 0),
        op(JUMP_IF_EQUAL, u32::from(u16::from_be_bytes([e, f])), 0, 1),
        op(RETURN, 64, 0, 0),
        op(RETURN, 0, 0, 0),
    ]
}

/// Frames that the interface has sent; 0 when it does not say.
fn sent(interface: &InterfaceName) -> u64 {
    let file = Path::new("/sys/class/net")
        .join(interface.as_str())
        .join("statistics/tx_packets");
    let text = fs::read_to_string(file).unwrap_or_default();
    text.trim().parse().unwrap_or(0)
}

fn index_of(interface: &InterfaceName) -> Result<u32, WireError> {
    nix::net::if_::if_nametoindex(interface.as_str())
        .map_err(WireError::call("if_nametoindex", interface))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mac_address_has_six_bytes_of_two_digits() {
        assert_eq!(
            mac_of("02:00:ab:0c:00:1f").unwrap(),
            [2, 0, 0xab, 12, 0, 31]
        );
        for wrong in [
            "",
            "02:00:ab:0c:00",
            "02:00:ab:0c:00:1f:00",
            "2:0:ab:c:0:1f",
            "+2:00:00:00:00:00",
        ] {
            assert!(mac_of(wrong).is_err(), "{wrong}");
        }
    }
}
