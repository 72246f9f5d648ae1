//! Bonds: how they spread what they send, and what became of their members.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::names::InterfaceName;

/// A bond as the kernel tells it (`RTM_GETLINK`; `/proc/net/bonding` shows the same).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BondFacts {
    /// How it spreads what it sends.
    pub mode: BondMode,
    /// By what it chooses the member for a packet; absent where the mode does not ask, or the kernel has one unknown here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash_policy: Option<HashPolicy>,
    /// How often it looks at the carrier of its members, in milliseconds; 0 for never.
    pub miimon_ms: u32,
    /// How often it asks for its targets by ARP, in milliseconds; 0 for never.
    pub arp_interval_ms: u32,
    /// What LACP agreed on; absent in other modes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lacp: Option<LacpFacts>,
    /// Its members.
    pub members: BTreeMap<InterfaceName, BondMember>,
}

impl BondFacts {
    /// The members that it sends through when the hash says so.
    pub fn up(&self) -> impl Iterator<Item = (&InterfaceName, &BondMember)> {
        self.members.iter().filter(|(_, member)| member.up)
    }

    /// Whether it notices that a member has lost its link.
    pub fn is_watched(&self) -> bool {
        self.miimon_ms > 0 || self.arp_interval_ms > 0
    }
}

/// A bond's mode, by the kernel's names (`bond_mode_tbl`, drivers/net/bonding/bond_options.c).
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum BondMode {
    /// Packet by packet.
    #[serde(rename = "balance-rr")]
    BalanceRr,
    /// One member at a time.
    #[serde(rename = "active-backup")]
    ActiveBackup,
    /// By a hash.
    #[serde(rename = "balance-xor")]
    BalanceXor,
    /// Every packet by every member.
    #[serde(rename = "broadcast")]
    Broadcast,
    /// By a hash, over the members that LACP has agreed on.
    #[serde(rename = "802.3ad")]
    Lacp,
    /// By load, sending alone.
    #[serde(rename = "balance-tlb")]
    BalanceTlb,
    /// By load, both ways.
    #[serde(rename = "balance-alb")]
    BalanceAlb,
}

impl BondMode {
    /// All of them, each at the kernel's number of it.
    pub const ALL: [Self; 7] = [
        Self::BalanceRr,
        Self::ActiveBackup,
        Self::BalanceXor,
        Self::Broadcast,
        Self::Lacp,
        Self::BalanceTlb,
        Self::BalanceAlb,
    ];

    /// The kernel's name of it.
    pub fn name(self) -> &'static str {
        match self {
            Self::BalanceRr => "balance-rr",
            Self::ActiveBackup => "active-backup",
            Self::BalanceXor => "balance-xor",
            Self::Broadcast => "broadcast",
            Self::Lacp => "802.3ad",
            Self::BalanceTlb => "balance-tlb",
            Self::BalanceAlb => "balance-alb",
        }
    }

    /// Whether a hash chooses the member.
    pub fn hashes(self) -> bool {
        matches!(self, Self::BalanceXor | Self::Lacp | Self::BalanceTlb)
    }
}

/// What of a packet decides about its member (`bond_xmit_hashtype_tbl`, the same file).
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum HashPolicy {
    /// MAC addresses.
    #[serde(rename = "layer2")]
    Layer2,
    /// Addresses and ports.
    #[serde(rename = "layer3+4")]
    Layer34,
    /// MAC and IP addresses.
    #[serde(rename = "layer2+3")]
    Layer23,
    /// The same of what a tunnel carries.
    #[serde(rename = "encap2+3")]
    Encap23,
    /// Addresses and ports of what a tunnel carries.
    #[serde(rename = "encap3+4")]
    Encap34,
    /// VLAN and the sender's MAC address.
    #[serde(rename = "vlan+srcmac")]
    VlanSource,
}

impl HashPolicy {
    /// All of them, each at the kernel's number of it.
    pub const ALL: [Self; 6] = [
        Self::Layer2,
        Self::Layer34,
        Self::Layer23,
        Self::Encap23,
        Self::Encap34,
        Self::VlanSource,
    ];

    /// The kernel's name of it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Layer2 => "layer2",
            Self::Layer34 => "layer3+4",
            Self::Layer23 => "layer2+3",
            Self::Encap23 => "encap2+3",
            Self::Encap34 => "encap3+4",
            Self::VlanSource => "vlan+srcmac",
        }
    }
}

/// What LACP agreed on with the other end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LacpFacts {
    /// The aggregator that carries.
    pub aggregator: u16,
    /// Members in it.
    pub ports: u16,
    /// The other end's MAC address; absent when nobody answers there (`00:00:00:00:00:00`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partner: Option<String>,
}

/// A member of a bond.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BondMember {
    /// The bond takes its link for up (`MII Status`).
    pub up: bool,
    /// It carries, and is not kept in reserve.
    pub active: bool,
    /// How often its link has failed since it became a member.
    pub link_failures: u32,
    /// The aggregator that it is in, with LACP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aggregator: Option<u16>,
}
