//! Probes that are not flows: path MTU, layer-2 hellos, questions for one's own address.

use std::net::{IpAddr, Ipv4Addr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::names::{HostName, LinkName};
use crate::units::{Mtu, Nanos, Packets};

/// What an echo-confirmed search with the don't-fragment bit found on a directed path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PathMtu {
    /// Sender's address.
    pub source: IpAddr,
    /// Receiver's address.
    pub destination: IpAddr,
    /// The sending interface's own MTU.
    pub interface_mtu: Mtu,
    /// Largest IP packet that was seen to arrive; absent when not even the smallest did.
    pub passed: Option<Mtu>,
    /// Smallest IP packet that was tried and never arrived, though the kernel took it.
    pub silent: Option<Mtu>,
    /// Whether the sending host's own packet filter refused that one (EPERM): it never was on the link.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub denied: bool,
    /// What the kernel or a router said the path allows (`IP_MTU`, from ICMP), when it did.
    pub told: Option<Mtu>,
    /// Who said so: the sender of the ICMP message (RFC 1191, RFC 4443). Absent when only a route of
    /// the host itself, or what it had learnt before, said it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told_by: Option<IpAddr>,
    /// Between which routers packets of the silent size vanish; absent when there are none, or none
    /// of them tells (RFC 792, time exceeded).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vanishes: Option<VanishesBetween>,
    /// Bands of sizes below `passed` that never arrive, though smaller and larger ones do; absent
    /// when the path was not searched for them, or was too lossy to tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holes: Option<Vec<SizeHole>>,
}

impl PathMtu {
    /// The version of IP that it is of.
    pub fn ip_version(&self) -> u64 {
        if self.source.is_ipv4() { 4 } else { 6 }
    }
}

impl PathMtu {
    /// Whether a packet as large as the interface takes arrived; not known where no packet did, which may have other causes.
    pub fn full_size_passes(&self) -> Option<bool> {
        let passed = self.passed?;
        let told = self.told.is_some_and(|told| told < self.interface_mtu);
        match (passed >= self.interface_mtu, self.silent.is_some() || told) {
            (true, _) => Some(true),
            (false, true) => Some(false),
            (false, false) => None,
        }
    }
}

/// What one host found of a link to another by echoes, which go there and back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PathEcho {
    /// Who asked.
    pub from: HostName,
    /// Whose kernel answered, or not.
    pub to: HostName,
    /// The link.
    pub link: LinkName,
    /// The sizes.
    pub found: PathMtu,
}

/// How far packets come that vanish: they were sent with small hop limits, and who takes the last hop
/// of a packet says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VanishesBetween {
    /// The farthest router that a packet of the silent size reached; absent when it reached none.
    pub reached: Option<IpAddr>,
    /// The next one, or the receiver, which small packets reached and it did not.
    pub not_reached: IpAddr,
}

/// A band of sizes of whole IP packets of which none arrived, as far as they were tried one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SizeHole {
    /// The smallest of the band.
    pub first: Mtu,
    /// The largest of the band.
    pub last: Mtu,
    /// Packets of its sizes that were sent to make sure, none of which arrived.
    pub sent: Packets,
    /// Packets of a size just outside that were sent one by one between these.
    pub outside_sent: Packets,
    /// Of them, how many arrived.
    pub outside_arrived: Packets,
}

/// What of layer 2 reaches a host whose unicast traffic does not arrive: frames that a sender addressed
/// to everybody and to the host alone, in turn, while the host itself sent nothing for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FramesHeard {
    /// The receiver's MAC address.
    pub mac: String,
    /// Frames sent to everybody.
    pub broadcast_sent: Packets,
    /// Of them, heard by the receiver.
    pub broadcast_heard: Packets,
    /// Frames sent to that MAC address.
    pub unicast_sent: Packets,
    /// Of them, heard by the receiver.
    pub unicast_heard: Packets,
    /// Frames that came to the receiver with its own MAC address as their source.
    pub own_address_heard: Packets,
    /// Frames that came to the sender with the receiver's MAC address as their source.
    pub receiver_address_heard: Packets,
    /// Frames that the receiver's interface sent meanwhile (`tx_packets`).
    pub receiver_sent: Packets,
}

/// What an interface heard of [`FramesHeard`]: one end of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FramesCounted {
    /// Frames to everybody, each once.
    pub broadcast: Packets,
    /// Frames to this host, each once.
    pub unicast: Packets,
    /// Frames of any protocol whose source is the MAC address that was looked for.
    pub from_watched: Packets,
    /// What the interface itself sent meanwhile.
    pub sent: Packets,
}

/// A layer-2 hello heard: broadcast frames with the run key, local experimental ethertype
/// 0x88B5 (IEEE 802), never routed, sent once per link at the start of a check.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct HelloHeard {
    /// Who sent it.
    pub from: HostName,
    /// Out of which of its links.
    pub from_link: LinkName,
    /// Who heard it.
    pub by: HostName,
    /// On which of its links.
    pub on_link: LinkName,
    /// How many copies of the same frame arrived: more than one is a duplicated path.
    pub copies: u32,
}

/// Somebody answered for a host's own IPv4 address when the host asked for it out of its own
/// interface (an ARP probe, RFC 5227). Another interface of the host itself may, too
/// (`arp_ignore`, ip-sysctl).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct AddressClaim {
    /// Who asked.
    pub host: HostName,
    /// On which of its links.
    pub link: LinkName,
    /// For which of its addresses.
    pub address: Ipv4Addr,
    /// Who answered.
    pub mac: String,
    /// How often, of [`ADDRESS_PROBES`] questions.
    pub answers: u32,
}

/// An address for which a host asked who else has it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct AddressAsked {
    /// Who asked.
    pub host: HostName,
    /// On which of its links.
    pub link: LinkName,
    /// For which of its addresses.
    pub address: Ipv4Addr,
}

/// What came of a host's questions for its own addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnAddresses {
    /// For which it asked.
    pub asked: Vec<AddressAsked>,
    /// Who answered.
    pub claims: Vec<AddressClaim>,
}

/// How often a host asks for its own address (`PROBE_NUM`, RFC 5227, 1.1).
pub const ADDRESS_PROBES: u32 = 3;

/// What a receiver's interface heard of multicast control while it was sent a group, and after it
/// had left the group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MulticastHeard {
    /// Queries for memberships (IGMP or MLD), each querier and version once.
    pub queries: Vec<QueryHeard>,
    /// How long was listened after the group had been left: a querier asks at once whether others
    /// are still members.
    pub listened_after_leave: Nanos,
    /// Packets that were sent to a group nobody has joined.
    pub unjoined_sent: Packets,
    /// Of them, heard on the receiver's interface: the switch floods.
    pub unjoined_heard: Packets,
}

/// Who asked for memberships.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct QueryHeard {
    /// The source of the query; a switch without an address asks from 0.0.0.0.
    pub querier: IpAddr,
    /// Version of IGMP (1 to 3) or MLD (1, 2).
    pub version: u8,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_size_passes_or_not_or_nothing_is_known() {
        let passes = |passed: Option<u32>, silent: Option<u32>| {
            let found = PathMtu {
                source: "10.0.0.1".parse().unwrap(),
                destination: "10.0.0.2".parse().unwrap(),
                interface_mtu: Mtu(9000),
                passed: passed.map(Mtu),
                silent: silent.map(Mtu),
                denied: false,
                told: None,
                told_by: None,
                vanishes: None,
                holes: None,
            };
            found.full_size_passes()
        };
        assert_eq!(passes(Some(9000), None), Some(true));
        assert_eq!(passes(Some(1500), Some(9000)), Some(false));
        assert_eq!(passes(None, Some(9000)), None);
        assert_eq!(passes(Some(1500), None), None);
    }
}
