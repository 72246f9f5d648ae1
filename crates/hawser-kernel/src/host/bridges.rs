//! Bridges on the host and what decides where they send multicast: snooping, queriers, ports.
//!
//! A bridge that never saw a querier floods; one that saw one and lost it stops a group when its
//! membership ages out. Neither moves a drop counter.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use hawser_model::host::BridgeFacts;
use hawser_model::names::InterfaceName;
use nix::net::if_::if_indextoname;
use nix::sys::socket::SockProtocol;

use super::bridge_vlans;
use crate::KernelError;
use crate::netlink::{Netlink, attributes, find, text, u16_at, u32_at};

const RTM_GETLINK: u16 = 18;
const RTM_GETMDB: u16 = 86;
const LINK_MESSAGE: usize = 16;
/// `struct br_port_msg`: family, padding, the bridge's index.
const PORT_MESSAGE: usize = 8;
/// `struct br_mdb_entry`: port, state, flags, VLAN, address (16 bytes), protocol, padding.
const MDB_ENTRY: usize = 28;
const IFLA_LINKINFO: u16 = 18;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const IFLA_BR_VLAN_FILTERING: u16 = 7;
const IFLA_BR_MCAST_SNOOPING: u16 = 23;
const IFLA_BR_MCAST_QUERIER: u16 = 25;
const IFLA_BR_MCAST_HASH_MAX: u16 = 27;
const IFLA_BR_MCAST_QUERIER_STATE: u16 = 47;
const BRIDGE_QUERIER_IP_ADDRESS: u16 = 1;
const BRIDGE_QUERIER_IPV6_ADDRESS: u16 = 5;
const MDBA_MDB: u16 = 1;
const MDBA_ROUTER: u16 = 2;

/// The bridges of the calling thread's network namespace.
pub(super) fn read() -> Result<BTreeMap<InterfaceName, BridgeFacts>, KernelError> {
    let mut netlink = Netlink::open(SockProtocol::NetlinkRoute)?;
    let mut bridges = netlink.dump(
        "RTM_GETLINK",
        RTM_GETLINK,
        &[0; LINK_MESSAGE],
        BTreeMap::new,
        |bridges, message| bridges.extend(decode_bridge(message)),
    )?;
    if bridges.is_empty() {
        return Ok(bridges);
    }
    let mut request = [0; PORT_MESSAGE];
    request[0] = libc::AF_BRIDGE as u8;
    let forwarding = netlink.dump(
        "RTM_GETMDB",
        RTM_GETMDB,
        &request,
        BTreeMap::<InterfaceName, BridgeFacts>::new,
        |all, message| {
            decode_forwarding(message, all);
        },
    )?;
    for (name, found) in forwarding {
        if let Some(bridge) = bridges.get_mut(&name) {
            bridge.router_ports = found.router_ports;
            bridge.groups = found.groups;
        }
    }
    if bridges.values().any(|bridge| bridge.vlans.is_some()) {
        for (index, ports) in bridge_vlans::read(&mut netlink)? {
            let Some(name) = name(index) else {
                continue;
            };
            let filters = bridges
                .get_mut(&name)
                .and_then(|bridge| bridge.vlans.as_mut());
            if let Some(vlans) = filters {
                *vlans = ports;
            }
        }
    }
    Ok(bridges)
}

fn name(index: u32) -> Option<InterfaceName> {
    let name = if_indextoname(index).ok()?;
    Some(InterfaceName(name.to_string_lossy().into_owned()))
}

fn decode_bridge(message: &[u8]) -> Option<(InterfaceName, BridgeFacts)> {
    let info = find(message.get(LINK_MESSAGE..)?, IFLA_LINKINFO)?;
    if text(find(info, IFLA_INFO_KIND)?) != "bridge" {
        return None;
    }
    let data = find(info, IFLA_INFO_DATA)?;
    let flag = |kind| find(data, kind).is_some_and(|payload| payload.first() == Some(&1));
    let querier = find(data, IFLA_BR_MCAST_QUERIER_STATE).unwrap_or(&[]);
    let queriers = attributes(querier)
        .filter_map(|(kind, payload)| match kind {
            BRIDGE_QUERIER_IP_ADDRESS => Some(v4(payload)?),
            BRIDGE_QUERIER_IPV6_ADDRESS => Some(v6(payload)?),
            _ => None,
        })
        .collect();
    let facts = BridgeFacts {
        multicast_snooping: flag(IFLA_BR_MCAST_SNOOPING),
        multicast_querier: flag(IFLA_BR_MCAST_QUERIER),
        queriers,
        vlans: flag(IFLA_BR_VLAN_FILTERING).then(BTreeMap::new),
        hash_max: find(data, IFLA_BR_MCAST_HASH_MAX).and_then(|payload| u32_at(payload, 0)),
        ..BridgeFacts::default()
    };
    Some((name(u32_at(message, 4)?)?, facts))
}

fn decode_forwarding(
    message: &[u8],
    into: &mut BTreeMap<InterfaceName, BridgeFacts>,
) -> Option<()> {
    let facts = into.entry(name(u32_at(message, 4)?)?).or_default();
    for (kind, payload) in attributes(message.get(PORT_MESSAGE..)?) {
        for (_, entry) in attributes(payload) {
            match kind {
                MDBA_ROUTER => facts.router_ports.extend(u32_at(entry, 0).and_then(name)),
                MDBA_MDB => {
                    let members = attributes(entry).filter_map(|(_, member)| decode_member(member));
                    facts.groups.extend(members);
                }
                _ => {}
            }
        }
    }
    Some(())
}

fn decode_member(entry: &[u8]) -> Option<(IpAddr, InterfaceName)> {
    let address = entry.get(8..MDB_ENTRY)?;
    let group = match u16::from_be(u16_at(address, 16)?) {
        0x0800 => v4(address)?,
        0x86dd => v6(address)?,
        _ => return None, // A link-layer group of a static entry.
    };
    Some((group, name(u32_at(entry, 0)?)?))
}

fn v4(bytes: &[u8]) -> Option<IpAddr> {
    Some(IpAddr::V4(Ipv4Addr::from(*bytes.first_chunk::<4>()?)))
}

fn v6(bytes: &[u8]) -> Option<IpAddr> {
    Some(IpAddr::V6(Ipv6Addr::from(*bytes.first_chunk::<16>()?)))
}
