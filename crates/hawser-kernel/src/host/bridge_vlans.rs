//! Which VLANs pass the ports of bridges that filter them. What does not pass is dropped without any counter.

use std::collections::BTreeMap;

use hawser_model::host::VlanRange;
use hawser_model::names::InterfaceName;

use crate::KernelError;
use crate::netlink::{Netlink, attribute, attributes, find, text, u16_at, u32_at};

const RTM_GETLINK: u16 = 18;
const LINK_MESSAGE: usize = 16;
const IFLA_IFNAME: u16 = 3;
const IFLA_MASTER: u16 = 10;
const IFLA_AF_SPEC: u16 = 26;
const IFLA_EXT_MASK: u16 = 29;
const IFLA_BRIDGE_VLAN_INFO: u16 = 2;
/// `RTEXT_FILTER_BRVLAN_COMPRESSED` (linux/rtnetlink.h): a row of VLANs comes as its first and its last.
const COMPRESSED: u32 = 1 << 2;
/// `BRIDGE_VLAN_INFO_RANGE_BEGIN`, `…_END` (linux/if_bridge.h).
const BEGIN: u16 = 1 << 3;
const END: u16 = 1 << 4;

/// The VLANs of a port.
type Ports = BTreeMap<InterfaceName, Vec<VlanRange>>;

/// What passes each port, the bridge's own interface among them, by the bridge's index; of all bridges, whether they filter or not.
pub(super) fn read(netlink: &mut Netlink) -> Result<BTreeMap<u32, Ports>, KernelError> {
    let mut request = vec![0; LINK_MESSAGE];
    request[0] = libc::AF_BRIDGE as u8;
    attribute(&mut request, IFLA_EXT_MASK, &COMPRESSED.to_ne_bytes());
    netlink.dump(
        "RTM_GETLINK of bridges",
        RTM_GETLINK,
        &request,
        BTreeMap::new,
        |bridges, message| {
            if let Some((bridge, port, vlans)) = decode(message) {
                let ports: &mut Ports = bridges.entry(bridge).or_default();
                ports.insert(port, vlans);
            }
        },
    )
}

fn decode(message: &[u8]) -> Option<(u32, InterfaceName, Vec<VlanRange>)> {
    let all = message.get(LINK_MESSAGE..)?;
    let bridge = u32_at(find(all, IFLA_MASTER)?, 0)?;
    let port = InterfaceName(text(find(all, IFLA_IFNAME)?));
    let infos = attributes(find(all, IFLA_AF_SPEC).unwrap_or(&[]));
    let infos = infos.filter(|(kind, _)| *kind == IFLA_BRIDGE_VLAN_INFO);
    let mut from = None;
    let ranges = infos.filter_map(|(_, info)| {
        let (flags, vlan) = (u16_at(info, 0)?, u16_at(info, 2)?);
        if flags & BEGIN != 0 {
            from = Some(vlan);
            return None;
        }
        let first = from.take().filter(|_| flags & END != 0);
        Some(VlanRange {
            from: first.unwrap_or(vlan),
            to: vlan,
        })
    });
    let ranges = ranges.collect();
    Some((bridge, port, ranges))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_vlans_and_single_ones_are_read() {
        let mut infos = Vec::new();
        for (flags, vlan) in [(6u16, 1u16), (BEGIN, 10), (END, 19), (0, 100)] {
            let info = [flags.to_ne_bytes(), vlan.to_ne_bytes()].concat();
            attribute(&mut infos, IFLA_BRIDGE_VLAN_INFO, &info);
        }
        let mut message = vec![0; LINK_MESSAGE];
        attribute(&mut message, IFLA_IFNAME, b"eth0\0");
        attribute(&mut message, IFLA_MASTER, &7u32.to_ne_bytes());
        attribute(&mut message, 0x8000 | IFLA_AF_SPEC, &infos);
        let (bridge, port, vlans) = decode(&message).unwrap();
        assert_eq!((bridge, port.as_str()), (7, "eth0"));
        let vlans: Vec<_> = vlans.iter().map(|range| (range.from, range.to)).collect();
        assert_eq!(vlans, [(1, 1), (10, 19), (100, 100)]);
    }

    #[test]
    fn a_port_without_a_vlan_passes_none() {
        let mut message = vec![0; LINK_MESSAGE];
        attribute(&mut message, IFLA_IFNAME, b"eth0\0");
        assert!(decode(&message).is_none());
        attribute(&mut message, IFLA_MASTER, &7u32.to_ne_bytes());
        assert!(decode(&message).unwrap().2.is_empty());
    }
}
