//! The MAC addresses that the kernel has for the watched flows' receivers: where it sends their
//! packets. `RTM_GETNEIGH` of one entry is known since Linux 5.0; an older kernel has nothing to say.

use std::net::IpAddr;

use hawser_model::host::NeighbourFacts;
use nix::sys::socket::SockProtocol;

use super::flows::Watched;
use crate::netlink::{Netlink, attribute, find, mac, u16_at};

const RTM_GETNEIGH: u16 = 30;
/// `struct ndmsg`: family, padding (3 bytes), interface, state, flags, type.
const NEIGHBOUR_MESSAGE: usize = 12;
const NDA_DST: u16 = 1;
const NDA_LLADDR: u16 = 2;
/// Where `ndm_state` stands, and what its bits are called (`include/uapi/linux/neighbour.h`).
const STATE: usize = 8;
const STATES: [(u16, &str); 8] = [
    (0x01, "INCOMPLETE"),
    (0x02, "REACHABLE"),
    (0x04, "STALE"),
    (0x08, "DELAY"),
    (0x10, "PROBE"),
    (0x20, "FAILED"),
    (0x40, "NOARP"),
    (0x80, "PERMANENT"),
];

/// An entry of the kernel's table.
#[derive(Default)]
struct Known {
    mac: Option<String>,
    state: Option<String>,
}

/// Receivers on other hosts, and what was known of each at first.
pub(crate) struct Neighbours(Vec<(u32, IpAddr, Option<String>)>);

impl Neighbours {
    /// Reads the entries of the flows' receivers, each once.
    pub(crate) fn before(flows: &[Watched]) -> Self {
        let mut receivers: Vec<(u32, IpAddr)> = flows
            .iter()
            .map(|watched| (watched.index, watched.flow.destination))
            .filter(|(_, address)| !address.is_multicast())
            .collect();
        receivers.sort_unstable();
        receivers.dedup();
        let mut netlink = Netlink::open(SockProtocol::NetlinkRoute).ok();
        let entries = receivers.into_iter().map(|(index, address)| {
            let known = netlink.as_mut().and_then(|n| read(n, index, address));
            (index, address, known.and_then(|known| known.mac))
        });
        Self(entries.collect())
    }

    /// Reads them again. Receivers of which nothing was ever known, such as this host itself, are
    /// left out.
    pub(crate) fn after(self) -> Vec<NeighbourFacts> {
        let mut netlink = Netlink::open(SockProtocol::NetlinkRoute).ok();
        let entries = self.0.into_iter().map(|(index, address, mac_before)| {
            let known = netlink.as_mut().and_then(|n| read(n, index, address));
            let Known { mac, state } = known.unwrap_or_default();
            NeighbourFacts {
                address,
                mac_before,
                mac_after: mac,
                state,
            }
        });
        entries
            .filter(|n| n.mac_before.is_some() || n.mac_after.is_some() || n.state.is_some())
            .collect()
    }
}

/// The entry of an address, if there is one.
fn read(netlink: &mut Netlink, index: u32, address: IpAddr) -> Option<Known> {
    let mut message = vec![0; NEIGHBOUR_MESSAGE];
    message[0] = match address {
        IpAddr::V4(_) => libc::AF_INET as u8,
        IpAddr::V6(_) => libc::AF_INET6 as u8,
    };
    message[4..8].copy_from_slice(&index.to_ne_bytes());
    match address {
        IpAddr::V4(v4) => attribute(&mut message, NDA_DST, &v4.octets()),
        IpAddr::V6(v6) => attribute(&mut message, NDA_DST, &v6.octets()),
    }
    let mut found = None;
    let asked = netlink.get("RTM_GETNEIGH", RTM_GETNEIGH, &message, |answer| {
        let attributes = answer.get(NEIGHBOUR_MESSAGE..).unwrap_or(&[]);
        let state = u16_at(answer, STATE).unwrap_or(0);
        let named = STATES.iter().find(|(bit, _)| state & bit != 0);
        found = Some(Known {
            mac: find(attributes, NDA_LLADDR).and_then(mac),
            state: named.map(|(_, name)| (*name).to_owned()),
        });
    });
    asked.ok().and(found)
}
