//! Bonds on the host: how each spreads what it sends, what LACP agreed on, what it thinks of its members.

use std::collections::BTreeMap;

use hawser_model::bond::{BondFacts, BondMember, BondMode, HashPolicy, LacpFacts};
use hawser_model::names::InterfaceName;
use nix::sys::socket::SockProtocol;

use crate::KernelError;
use crate::netlink::{Netlink, find, mac, text, u16_at, u32_at};

const RTM_GETLINK: u16 = 18;
const LINK_MESSAGE: usize = 16;
const IFLA_IFNAME: u16 = 3;
const IFLA_MASTER: u16 = 10;
const IFLA_LINKINFO: u16 = 18;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const IFLA_INFO_SLAVE_KIND: u16 = 4;
const IFLA_INFO_SLAVE_DATA: u16 = 5;
const IFLA_BOND_MODE: u16 = 1;
const IFLA_BOND_MIIMON: u16 = 3;
const IFLA_BOND_ARP_INTERVAL: u16 = 7;
const IFLA_BOND_XMIT_HASH_POLICY: u16 = 14;
const IFLA_BOND_AD_INFO: u16 = 23;
const IFLA_BOND_AD_INFO_AGGREGATOR: u16 = 1;
const IFLA_BOND_AD_INFO_NUM_PORTS: u16 = 2;
const IFLA_BOND_AD_INFO_PARTNER_MAC: u16 = 5;
const IFLA_BOND_SLAVE_STATE: u16 = 1;
const IFLA_BOND_SLAVE_MII_STATUS: u16 = 2;
const IFLA_BOND_SLAVE_LINK_FAILURE_COUNT: u16 = 3;
const IFLA_BOND_SLAVE_AD_AGGREGATOR_ID: u16 = 6;
/// `BOND_STATE_ACTIVE` (linux/if_bonding.h); `BOND_LINK_UP` is 0 too.
const ACTIVE: u8 = 0;
const UP: u8 = 0;

/// The bonds of the calling thread's network namespace.
pub(super) fn read() -> Result<BTreeMap<InterfaceName, BondFacts>, KernelError> {
    let mut netlink = Netlink::open(SockProtocol::NetlinkRoute)?;
    let links = netlink.dump(
        "RTM_GETLINK",
        RTM_GETLINK,
        &[0; LINK_MESSAGE],
        Links::default,
        |links, message| {
            links.take(message);
        },
    )?;
    Ok(links.joined())
}

/// Bonds by their interface's index, and members with their bond's.
#[derive(Default)]
struct Links {
    bonds: BTreeMap<u32, (InterfaceName, BondFacts)>,
    members: Vec<(u32, InterfaceName, BondMember)>,
}

impl Links {
    fn take(&mut self, message: &[u8]) -> Option<()> {
        let all = message.get(LINK_MESSAGE..)?;
        let info = find(all, IFLA_LINKINFO)?;
        let name = InterfaceName(text(find(all, IFLA_IFNAME)?));
        let is_bond = |kind| find(info, kind).is_some_and(|kind| text(kind) == "bond");
        if is_bond(IFLA_INFO_SLAVE_KIND) {
            let bond = u32_at(find(all, IFLA_MASTER)?, 0)?;
            let member = member(find(info, IFLA_INFO_SLAVE_DATA)?)?;
            self.members.push((bond, name.clone(), member));
        }
        if is_bond(IFLA_INFO_KIND) {
            let facts = bond(find(info, IFLA_INFO_DATA)?)?;
            self.bonds.insert(u32_at(message, 4)?, (name, facts));
        }
        Some(())
    }

    fn joined(mut self) -> BTreeMap<InterfaceName, BondFacts> {
        for (bond, name, member) in self.members {
            if let Some((_, facts)) = self.bonds.get_mut(&bond) {
                facts.members.insert(name, member);
            }
        }
        self.bonds.into_values().collect()
    }
}

/// `IFLA_INFO_DATA` of a bond (`bond_fill_info`, drivers/net/bonding/bond_netlink.c); none of a mode unknown here.
fn bond(data: &[u8]) -> Option<BondFacts> {
    let byte = |kind| find(data, kind)?.first().copied().map(usize::from);
    let number = |kind| find(data, kind).and_then(|payload| u32_at(payload, 0));
    let mode = *BondMode::ALL.get(byte(IFLA_BOND_MODE)?)?;
    let policy = byte(IFLA_BOND_XMIT_HASH_POLICY).filter(|_| mode.hashes());
    Some(BondFacts {
        mode,
        hash_policy: policy.and_then(|policy| HashPolicy::ALL.get(policy).copied()),
        miimon_ms: number(IFLA_BOND_MIIMON).unwrap_or(0),
        arp_interval_ms: number(IFLA_BOND_ARP_INTERVAL).unwrap_or(0),
        // Without a member that is up the kernel has nothing to tell of the agreement.
        lacp: (mode == BondMode::Lacp)
            .then(|| find(data, IFLA_BOND_AD_INFO).map(lacp).unwrap_or_default()),
        members: BTreeMap::new(),
    })
}

fn lacp(info: &[u8]) -> LacpFacts {
    let number = |kind| find(info, kind).and_then(|payload| u16_at(payload, 0));
    LacpFacts {
        aggregator: number(IFLA_BOND_AD_INFO_AGGREGATOR).unwrap_or(0),
        ports: number(IFLA_BOND_AD_INFO_NUM_PORTS).unwrap_or(0),
        partner: find(info, IFLA_BOND_AD_INFO_PARTNER_MAC).and_then(mac),
    }
}

/// `IFLA_INFO_SLAVE_DATA` (`bond_fill_slave_info`, the same file).
fn member(data: &[u8]) -> Option<BondMember> {
    let byte = |kind| find(data, kind)?.first().copied();
    Some(BondMember {
        up: byte(IFLA_BOND_SLAVE_MII_STATUS)? == UP,
        active: byte(IFLA_BOND_SLAVE_STATE)? == ACTIVE,
        link_failures: find(data, IFLA_BOND_SLAVE_LINK_FAILURE_COUNT)
            .and_then(|payload| u32_at(payload, 0))
            .unwrap_or(0),
        aggregator: find(data, IFLA_BOND_SLAVE_AD_AGGREGATOR_ID)
            .and_then(|payload| u16_at(payload, 0)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::attribute;

    fn nest(parts: &[(u16, &[u8])]) -> Vec<u8> {
        let mut all = Vec::new();
        for (kind, payload) in parts {
            attribute(&mut all, *kind, payload);
        }
        all
    }

    /// A link's message with this index and these attributes.
    fn link(index: u32, parts: &[(u16, &[u8])]) -> Vec<u8> {
        let mut message = vec![0; LINK_MESSAGE];
        message[4..8].copy_from_slice(&index.to_ne_bytes());
        message.extend(nest(parts));
        message
    }

    fn of(messages: &[Vec<u8>]) -> BTreeMap<InterfaceName, BondFacts> {
        let mut links = Links::default();
        for message in messages {
            links.take(message);
        }
        links.joined()
    }

    fn a_bond(mode: u8, more: &[(u16, &[u8])]) -> Vec<u8> {
        let miimon = 100u32.to_ne_bytes();
        let mut parts: Vec<(u16, &[u8])> = vec![
            (IFLA_BOND_MODE, std::slice::from_ref(&mode)),
            (IFLA_BOND_MIIMON, &miimon),
        ];
        parts.extend(more);
        let info = nest(&[(IFLA_INFO_KIND, b"bond\0"), (IFLA_INFO_DATA, &nest(&parts))]);
        link(9, &[(IFLA_IFNAME, b"bond0\0"), (IFLA_LINKINFO, &info)])
    }

    fn a_member(name: &[u8], status: u8) -> Vec<u8> {
        let data = nest(&[
            (IFLA_BOND_SLAVE_STATE, &[1]),
            (IFLA_BOND_SLAVE_MII_STATUS, &[status]),
            (IFLA_BOND_SLAVE_LINK_FAILURE_COUNT, &3u32.to_ne_bytes()),
            (IFLA_BOND_SLAVE_AD_AGGREGATOR_ID, &2u16.to_ne_bytes()),
        ]);
        let info = nest(&[
            (IFLA_INFO_SLAVE_KIND, b"bond\0"),
            (IFLA_INFO_SLAVE_DATA, &data),
        ]);
        link(
            2,
            &[
                (IFLA_IFNAME, name),
                (IFLA_MASTER, &9u32.to_ne_bytes()),
                (IFLA_LINKINFO, &info),
            ],
        )
    }

    #[test]
    fn a_bond_has_its_members_whatever_comes_first() {
        let lacp = |partner: &[u8; 6]| {
            nest(&[
                (IFLA_BOND_AD_INFO_AGGREGATOR, &2u16.to_ne_bytes()),
                (IFLA_BOND_AD_INFO_NUM_PORTS, &1u16.to_ne_bytes()),
                (IFLA_BOND_AD_INFO_PARTNER_MAC, partner),
            ])
        };
        let alone = lacp(&[0; 6]);
        let more: [(u16, &[u8]); 2] = [
            (IFLA_BOND_XMIT_HASH_POLICY, &[1]),
            (IFLA_BOND_AD_INFO, &alone),
        ];
        let bond = a_bond(4, &more);
        let all = of(&[a_member(b"eth0\0", 0), bond, a_member(b"eth1\0", 2)]);
        let bond = &all["bond0"];
        assert_eq!(bond.mode, BondMode::Lacp);
        assert_eq!(bond.hash_policy, Some(HashPolicy::Layer34));
        assert!(bond.is_watched());
        let expected = LacpFacts {
            aggregator: 2,
            ports: 1,
            partner: None,
        };
        assert_eq!(bond.lacp, Some(expected));
        let up: Vec<&str> = bond.up().map(|(name, _)| name.as_str()).collect();
        assert_eq!(up, ["eth0"]);
        let down = &bond.members["eth1"];
        assert_eq!(
            (down.up, down.active, down.link_failures, down.aggregator),
            (false, false, 3, Some(2))
        );
        let met = super::lacp(&lacp(&[2, 0, 0, 0, 0, 1]));
        assert_eq!(met.partner.as_deref(), Some("02:00:00:00:00:01"));
    }

    #[test]
    fn a_mode_that_has_no_hash_has_no_policy_and_an_unknown_one_is_no_bond() {
        let policy: [(u16, &[u8]); 1] = [(IFLA_BOND_XMIT_HASH_POLICY, &[0])];
        let all = of(&[a_bond(1, &policy)]);
        assert_eq!(all["bond0"].hash_policy, None);
        assert_eq!(all["bond0"].lacp, None);
        assert!(of(&[a_bond(7, &policy)]).is_empty());
        assert!(of(&[link(3, &[(IFLA_IFNAME, b"eth0\0")])]).is_empty());
    }

    #[test]
    fn this_host_is_read() {
        read().unwrap();
    }
}
