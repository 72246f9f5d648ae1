//! Interfaces: `RTM_GETLINK`, `RTM_GETADDR`, and what the drivers say through `ethtool`.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::time::Duration;

use hawser_model::host::{Interface, Tunnel};
use hawser_model::names::InterfaceName;
use hawser_model::port_traffic::{Carried, PortTraffic};
use hawser_model::units::{BitsPerSec, Bytes, Mtu, Nanos, Packets};
use nix::sys::socket::SockProtocol;
use nix::time::{ClockId, clock_gettime};

use super::pcie;
use super::tunnels::{self, Tunnelled};
use crate::KernelError;
use crate::ethtool::Ethtool;
use crate::netlink::{Netlink, attributes, find, mac, text, u16_at, u32_at, u64_at};

const RTM_GETLINK: u16 = 18;
const RTM_GETADDR: u16 = 22;
/// `struct ifinfomsg`: family, padding, type, index, flags, change.
const LINK_MESSAGE: usize = 16;
/// `struct ifaddrmsg`: family, prefix length, flags, scope, index.
const ADDRESS_MESSAGE: usize = 8;
const IFLA_ADDRESS: u16 = 1;
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_LINK: u16 = 5;
const IFLA_MASTER: u16 = 10;
const IFLA_LINKINFO: u16 = 18;
const IFLA_STATS64: u16 = 23;
const IFLA_LINK_NETNSID: u16 = 37;
const IFLA_PERM_ADDRESS: u16 = 54;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const IFLA_VLAN_ID: u16 = 1;
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
/// `IFA_F_DADFAILED` (linux/if_addr.h): among the flags that fit into the header's byte.
const DAD_FAILED: u8 = 0x08;

/// The interfaces of the calling thread's network namespace, and what they have carried: the kernel tells both in one answer.
/// What has no moment has no counts.
pub(super) fn read()
-> Result<(BTreeMap<InterfaceName, Interface>, Option<PortTraffic>), KernelError> {
    let at = clock_gettime(ClockId::CLOCK_MONOTONIC).ok();
    let at = at.and_then(|at| u64::try_from(Duration::from(at).as_nanos()).ok());
    let mut netlink = Netlink::open(SockProtocol::NetlinkRoute)?;
    let mut links = netlink.dump(
        "RTM_GETLINK",
        RTM_GETLINK,
        &[0; LINK_MESSAGE],
        BTreeMap::new,
        |links, message| {
            if let Some(link) = Link::decode(message) {
                links.insert(link.interface.index, link);
            }
        },
    )?;
    let addresses = netlink.dump(
        "RTM_GETADDR",
        RTM_GETADDR,
        &[0; ADDRESS_MESSAGE],
        Vec::new,
        |all, message| all.extend(decode_address(message)),
    )?;
    for found in addresses {
        if let Some(link) = links.get_mut(&found.index) {
            let interface = &mut link.interface;
            interface.addresses.push((found.address, found.prefix));
            if found.dad_failed {
                interface.dad_failed.push(found.address);
            }
        }
    }
    let tunnels: Vec<(u32, Tunnel)> = links
        .iter()
        .filter_map(|(index, link)| Some((*index, tunnel_of(link, &links)?)))
        .collect();
    for (index, tunnel) in tunnels {
        if let Some(link) = links.get_mut(&index) {
            link.interface.tunnel = Some(tunnel);
        }
    }
    let carried = links.values().filter_map(|link| {
        let name = InterfaceName(link.name.clone());
        Some((name, link.carried?))
    });
    let counts = at.map(|at| PortTraffic {
        at: Nanos(at),
        ports: carried.collect(),
    });
    let ethtool = Ethtool::open()?;
    let lower: Vec<_> = links.values().map(|link| lower_of(link, &links)).collect();
    let interfaces = links
        .into_values()
        .zip(lower)
        .map(|(link, lower)| {
            let mut interface = link.interface;
            interface.lower = lower;
            ask_driver(&ethtool, &link.name, &mut interface);
            (InterfaceName(link.name), interface)
        })
        .collect();
    Ok((interfaces, counts))
}

struct Link {
    name: String,
    kind: String,
    master: Option<u32>,
    /// `IFLA_LINK`, when it is in this namespace and something below, not a peer.
    below: Option<u32>,
    tunnelled: Option<Tunnelled>,
    /// Absent where the kernel does not tell it.
    carried: Option<Carried>,
    interface: Interface,
}

impl Link {
    fn decode(message: &[u8]) -> Option<Self> {
        let index = u32_at(message, 4)?;
        let flags = u32_at(message, 8)?;
        let has = |flag: libc::c_int| flags & flag as u32 != 0;
        let mut link = Self {
            name: String::new(),
            kind: String::new(),
            master: None,
            below: None,
            tunnelled: None,
            carried: None,
            interface: Interface {
                index,
                up: has(libc::IFF_UP),
                carrier: has(libc::IFF_LOWER_UP),
                ..Interface::default()
            },
        };
        let mut elsewhere = false;
        let mut permanent = None;
        for (kind, payload) in attributes(message.get(LINK_MESSAGE..)?) {
            match kind {
                IFLA_IFNAME => link.name = text(payload),
                IFLA_MTU => link.interface.mtu = u32_at(payload, 0).map(Mtu),
                IFLA_MASTER => link.master = u32_at(payload, 0),
                IFLA_LINK => link.below = u32_at(payload, 0),
                IFLA_LINK_NETNSID => elsewhere = true,
                IFLA_ADDRESS => link.interface.mac = mac(payload),
                IFLA_STATS64 => link.carried = carried(index, payload),
                IFLA_PERM_ADDRESS => permanent = mac(payload),
                IFLA_LINKINFO => {
                    link.kind = find(payload, IFLA_INFO_KIND).map_or_else(String::new, text);
                    let data = |kind| find(payload, IFLA_INFO_DATA).filter(|_| link.kind == kind);
                    let id = data("vlan").and_then(|data| find(data, IFLA_VLAN_ID));
                    link.interface.vlan = id.and_then(|id| u16_at(id, 0));
                    link.tunnelled = data("vxlan").map(tunnels::vxlan);
                }
                _ => {}
            }
        }
        let current = link.interface.mac.take();
        link.interface.mac = permanent.or_else(|| current.clone());
        link.interface.mac_in_use = current.filter(|mac| link.interface.mac.as_ref() != Some(mac));
        // A veth's "link" is its peer.
        if elsewhere || link.kind == "veth" {
            link.below = None;
        }
        Some(link)
    }
}

/// The first four of `struct rtnl_link_stats64`.
fn carried(index: u32, stats: &[u8]) -> Option<Carried> {
    let count = |field: usize| u64_at(stats, field * 8);
    Some(Carried {
        index,
        received_packets: Packets(count(0)?),
        sent_packets: Packets(count(1)?),
        received: Bytes(count(2)?),
        sent: Bytes(count(3)?),
    })
}

/// Over which interface a tunnel goes: the one that it is bound to, or the one that has its address.
fn tunnel_of(link: &Link, all: &BTreeMap<u32, Link>) -> Option<Tunnel> {
    let tunnelled = link.tunnelled?;
    let bound = tunnelled.below.and_then(|index| all.get(&index));
    let has = |other: &&Link| {
        let mut addresses = other.interface.addresses.iter();
        addresses.any(|(address, _)| Some(*address) == tunnelled.local)
    };
    let over = bound.or_else(|| all.values().find(has))?;
    Some(Tunnel {
        over: InterfaceName(over.name.clone()),
        headers: tunnelled.headers,
    })
}

/// What a VLAN or macvlan stands on; the members of a bond; the ports of a bridge.
fn lower_of(link: &Link, all: &BTreeMap<u32, Link>) -> Vec<InterfaceName> {
    let index = link.interface.index;
    let members = all
        .values()
        .filter(|other| other.master == Some(index))
        .map(|other| &other.name);
    let below = link
        .below
        .filter(|&below| below != index)
        .and_then(|below| all.get(&below))
        .map(|below| &below.name);
    below
        .into_iter()
        .chain(members)
        .map(|name| InterfaceName(name.clone()))
        .collect()
}

/// An address of the interface with that index.
struct Found {
    index: u32,
    address: IpAddr,
    prefix: u8,
    dad_failed: bool,
}

fn decode_address(message: &[u8]) -> Option<Found> {
    let family = i32::from(*message.first()?);
    let prefix = *message.get(1)?;
    let flags = *message.get(2)?;
    let index = u32_at(message, 4)?;
    let (mut address, mut local) = (None, None);
    for (kind, payload) in attributes(message.get(ADDRESS_MESSAGE..)?) {
        match kind {
            IFA_ADDRESS => address = ip(family, payload),
            IFA_LOCAL => local = ip(family, payload),
            _ => {}
        }
    }
    // On a point-to-point link IFA_ADDRESS is the other end (linux/if_addr.h).
    Some(Found {
        index,
        address: local.or(address)?,
        prefix,
        dad_failed: flags & DAD_FAILED != 0,
    })
}

fn ip(family: i32, payload: &[u8]) -> Option<IpAddr> {
    match family {
        libc::AF_INET => Some(IpAddr::V4(Ipv4Addr::from(*payload.first_chunk::<4>()?))),
        libc::AF_INET6 => Some(IpAddr::V6(Ipv6Addr::from(*payload.first_chunk::<16>()?))),
        _ => None,
    }
}

fn ask_driver(ethtool: &Ethtool, name: &str, interface: &mut Interface) {
    if let Ok(driver) = ethtool.driver(name) {
        interface.driver = Some(driver.name).filter(|name| !name.is_empty());
        // Drivers of devices without a bus write "N/A" or nothing, some their own name.
        interface.bus = Some(driver.bus).filter(|bus| bus.contains([':', '-', '.']));
    }
    if let Ok(settings) = ethtool.link_settings(name) {
        interface.speed = settings.speed.map(|m| BitsPerSec(u64::from(m) * 1_000_000));
        interface.duplex = settings.duplex.map(str::to_owned);
    }
    interface.pcie = pcie::link(Path::new("/sys/class/net"), name, interface.bus.as_deref());
    interface.features_on = ethtool.features_on(name).unwrap_or_default();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_interface_is_described_and_what_it_has_carried() {
        let (all, counts) = read().unwrap();
        let before = counts.unwrap();
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        for _ in 0..10 {
            let own = socket.local_addr().unwrap();
            socket.send_to(&[7; 1000], own).unwrap();
        }
        let after = read().unwrap().1.unwrap();
        assert!(after.at > before.at);
        let [before, after] = [&before, &after].map(|counts| counts.ports["lo"]);
        assert_eq!(after.index, 1);
        for (now, then) in [(after.sent, before.sent), (after.received, before.received)] {
            assert!(now - then >= Bytes(10_000), "{after:?}");
        }
        for (now, then) in [
            (after.sent_packets, before.sent_packets),
            (after.received_packets, before.received_packets),
        ] {
            assert!(now - then >= Packets(10), "{after:?}");
        }
        let lo = &all["lo"];
        assert_eq!(lo.index, 1);
        assert_eq!(lo.mac, None);
        assert_eq!(lo.speed, None);
        assert!(lo.mtu.is_some());
        assert!(lo.features_on.iter().any(|f| f == "loopback"), "{lo:?}");
    }
}
