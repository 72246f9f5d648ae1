//! Who else uses a host's own IPv4 address: the host asks for it out of the interface that has it, as
//! it would before taking it (ARP probe, RFC 5227).
//!
//! The question has no sender's address, so nobody learns anything from it, and an answer tells no
//! host but the asking one. A host does not hear its own question; a host that answers has the address
//! too, or is another interface of the same host.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::Duration;

use hawser_model::names::{HostName, InterfaceName, LinkName};
use hawser_model::probe::{ADDRESS_PROBES, AddressAsked, AddressClaim, OwnAddresses};
use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv};

use crate::error::WireError;
use crate::sys::link;

const ETHERTYPE_ARP: u16 = 0x0806;

/// Between two questions, and after the last one. RFC 5227 waits seconds for hosts that are just
/// starting; these have been up for long.
const PAUSE: Duration = Duration::from_millis(50);

/// A host's address on a link, and the interface that has it.
pub type OwnAddress = (InterfaceName, LinkName, Ipv4Addr);

/// Asks for all of them at once and says for which it asked and who answered, as host `host`. Interfaces that have no
/// Ethernet address are not asked on.
///
/// # Errors
/// [`WireError::Call`] when an interface does not exist, is down, or the caller may not send
/// frames (`CAP_NET_RAW`).
pub fn claims(addresses: &[OwnAddress], host: &HostName) -> Result<OwnAddresses, WireError> {
    let mut asked = Vec::new();
    for (interface, name, address) in addresses {
        asked.extend(Asking::open(interface, name, *address)?);
    }
    for _ in 0..ADDRESS_PROBES {
        for asking in &asked {
            asking.ask()?;
        }
        std::thread::sleep(PAUSE);
    }
    Ok(OwnAddresses {
        asked: asked.iter().map(|asking| asking.of(host)).collect(),
        claims: asked
            .into_iter()
            .flat_map(|asking| asking.answers(host))
            .collect(),
    })
}

struct Asking {
    interface: InterfaceName,
    link: LinkName,
    index: u32,
    mac: [u8; 6],
    address: Ipv4Addr,
    socket: OwnedFd,
}

impl Asking {
    fn open(
        interface: &InterfaceName,
        name: &LinkName,
        address: Ipv4Addr,
    ) -> Result<Option<Self>, WireError> {
        let index = nix::net::if_::if_nametoindex(interface.as_str())
            .map_err(WireError::call("if_nametoindex", interface))?;
        let socket = link::open(index, ETHERTYPE_ARP)
            .map_err(WireError::call("socket AF_PACKET", interface))?;
        let mac = link::ethernet_address(socket.as_fd())
            .map_err(WireError::call("getsockname AF_PACKET", interface))?;
        Ok(mac.map(|mac| Self {
            interface: interface.clone(),
            link: name.clone(),
            index,
            mac,
            address,
            socket,
        }))
    }

    fn of(&self, host: &HostName) -> AddressAsked {
        AddressAsked {
            host: host.clone(),
            link: self.link.clone(),
            address: self.address,
        }
    }

    fn ask(&self) -> Result<(), WireError> {
        let question = question(self.mac, self.address);
        link::broadcast(self.socket.as_fd(), self.index, ETHERTYPE_ARP, &question)
            .map_err(WireError::call("sendto AF_PACKET", &self.interface))
    }

    fn answers(self, host: &HostName) -> Vec<AddressClaim> {
        let mut claims: BTreeMap<[u8; 6], u32> = BTreeMap::new();
        let mut buffer = [0; 64];
        loop {
            let length = match recv(self.socket.as_raw_fd(), &mut buffer, MsgFlags::MSG_DONTWAIT) {
                Ok(length) => length,
                // A link that went down says so once; frames from before are behind it.
                Err(Errno::ENETDOWN | Errno::EINTR) => continue,
                Err(_) => break,
            };
            if let Some(mac) = answer(&buffer[..length], self.mac, self.address) {
                *claims.entry(mac).or_default() += 1;
            }
        }
        claims
            .into_iter()
            .map(|(mac, answers)| AddressClaim {
                host: host.clone(),
                link: self.link.clone(),
                address: self.address,
                mac: mac.map(|b| format!("{b:02x}")).join(":"),
                answers,
            })
            .collect()
    }
}

/// Ethernet, IPv4, lengths of their addresses (RFC 826).
const KIND: [u8; 6] = [0, 1, 8, 0, 6, 4];
const REQUEST: [u8; 2] = [0, 1];
const REPLY: [u8; 2] = [0, 2];

fn question(mac: [u8; 6], address: Ipv4Addr) -> Vec<u8> {
    let sender = [&mac[..], &[0; 4]].concat();
    let target = [&[0; 6][..], &address.octets()].concat();
    [&KIND[..], &REQUEST, &sender, &target].concat()
}

/// The MAC address of a reply to `mac` that says who has `address`; absent for anything else. Any
/// bytes are fine, and Ethernet may pad what follows.
fn answer(frame: &[u8], mac: [u8; 6], address: Ipv4Addr) -> Option<[u8; 6]> {
    let rest = frame.strip_prefix(&KIND)?.strip_prefix(&REPLY)?;
    let (sender, rest) = rest.split_first_chunk::<6>()?;
    let (has, rest) = rest.split_first_chunk::<4>()?;
    let (to, _) = rest.split_first_chunk::<6>()?;
    (*has == address.octets() && *to == mac && *sender != mac).then_some(*sender)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: [u8; 6] = [2, 0, 0, 0, 0, 1];
    const OTHER: [u8; 6] = [2, 0, 0, 0, 0, 2];
    const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

    fn reply(from: [u8; 6], has: Ipv4Addr, to: [u8; 6]) -> Vec<u8> {
        let padding = [0; 18];
        [
            &KIND[..],
            &REPLY,
            &from,
            &has.octets(),
            &to,
            &[0; 4],
            &padding,
        ]
        .concat()
    }

    #[test]
    fn only_a_reply_to_us_for_our_address_from_somebody_else_counts() {
        assert_eq!(
            answer(&reply(OTHER, ADDRESS, OWN), OWN, ADDRESS),
            Some(OTHER)
        );
        assert_eq!(answer(&reply(OWN, ADDRESS, OWN), OWN, ADDRESS), None);
        assert_eq!(answer(&reply(OTHER, ADDRESS, OTHER), OWN, ADDRESS), None);
        let elsewhere = Ipv4Addr::new(10, 0, 0, 2);
        assert_eq!(answer(&reply(OTHER, elsewhere, OWN), OWN, ADDRESS), None);
        assert_eq!(answer(&question(OTHER, ADDRESS), OWN, ADDRESS), None);
        for cut in 0..28 {
            // Must not panic.
            let _ = answer(&reply(OTHER, ADDRESS, OWN)[..cut], OWN, ADDRESS);
        }
    }

    #[test]
    fn the_question_has_no_senders_address() {
        let bytes = question(OWN, ADDRESS);
        assert_eq!(bytes.len(), 28, "RFC 826 for Ethernet and IPv4");
        assert_eq!(bytes[14..18], [0; 4]);
        assert_eq!(bytes[24..28], ADDRESS.octets());
    }
}
