//! What a tunnel's packets travel over, and how much its headers take of them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::netlink::{find, u32_at};

const IFLA_VXLAN_GROUP: u16 = 2;
const IFLA_VXLAN_LINK: u16 = 3;
const IFLA_VXLAN_LOCAL: u16 = 4;
const IFLA_VXLAN_GROUP6: u16 = 16;
const IFLA_VXLAN_LOCAL6: u16 = 17;
/// `VXLAN_HEADROOM`, `VXLAN6_HEADROOM` (include/net/vxlan.h): IP, UDP, VXLAN and the Ethernet header inside.
const HEADERS: u32 = 20 + 8 + 8 + 14;
const HEADERS6: u32 = 40 + 8 + 8 + 14;

/// What the kernel says of a tunnel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tunnelled {
    /// The index of the interface that it is bound to.
    pub(super) below: Option<u32>,
    /// The address that it sends from.
    pub(super) local: Option<IpAddr>,
    /// Bytes in front of the packet inside.
    pub(super) headers: u32,
}

/// A VXLAN, by its `IFLA_INFO_DATA`.
pub(super) fn vxlan(data: &[u8]) -> Tunnelled {
    let v4 = |kind| {
        let bytes = find(data, kind)?.first_chunk::<4>()?;
        Some(IpAddr::V4(Ipv4Addr::from(*bytes))).filter(|address| !address.is_unspecified())
    };
    let v6 = |kind| {
        let bytes = find(data, kind)?.first_chunk::<16>()?;
        Some(IpAddr::V6(Ipv6Addr::from(*bytes))).filter(|address| !address.is_unspecified())
    };
    let local = v4(IFLA_VXLAN_LOCAL).or_else(|| v6(IFLA_VXLAN_LOCAL6));
    let is_v6 = local.map_or_else(|| v6(IFLA_VXLAN_GROUP6).is_some(), |local| local.is_ipv6());
    Tunnelled {
        below: find(data, IFLA_VXLAN_LINK)
            .and_then(|payload| u32_at(payload, 0))
            .filter(|index| *index > 0),
        local,
        headers: match is_v6 && v4(IFLA_VXLAN_GROUP).is_none() {
            true => HEADERS6,
            false => HEADERS,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::attribute;

    #[test]
    fn a_vxlan_says_where_it_goes_and_what_it_costs() {
        let mut data = Vec::new();
        attribute(&mut data, IFLA_VXLAN_LINK, &3u32.to_ne_bytes());
        attribute(&mut data, IFLA_VXLAN_LOCAL, &[10, 0, 0, 1]);
        let found = vxlan(&data);
        let local = Some(IpAddr::from([10, 0, 0, 1]));
        assert_eq!(
            found,
            Tunnelled {
                below: Some(3),
                local,
                headers: 50
            }
        );
        let mut data = Vec::new();
        attribute(&mut data, IFLA_VXLAN_LOCAL6, &Ipv6Addr::LOCALHOST.octets());
        let found = vxlan(&data);
        assert_eq!((found.below, found.headers), (None, 70));
        assert_eq!(found.local, Some(Ipv6Addr::LOCALHOST.into()));
        assert_eq!(vxlan(&[]).headers, 50);
    }
}
