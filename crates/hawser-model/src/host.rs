//! What stands on a host: kernel, interfaces, sysctls, cluster engine, and which collectors run.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use ipnet::IpNet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bond::BondFacts;
use crate::counters::Counters;
use crate::drops::{DropRecord, TapRecord};
use crate::ladder::{BusyProgram, ProcessorTime};
use crate::names::InterfaceName;
use crate::served::ServedClient;
use crate::sockets::SocketFacts;
use crate::storage::StorageFacts;
use crate::units::{BitsPerSec, Bytes, Mtu, Nanos, Packets};

/// Facts about a host that do not change during a check.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostFacts {
    /// `uname -n`.
    pub hostname: String,
    /// `uname -r`.
    pub kernel: String,
    /// `uname -m`.
    pub machine: String,
    /// Online CPUs.
    pub cpus: u32,
    /// Network interfaces by name.
    pub interfaces: BTreeMap<InterfaceName, Interface>,
    /// Sysctls that matter to the accounts, by their dotted name; values as the kernel prints them.
    pub sysctls: BTreeMap<String, String>,
    /// The collectors and whether each can run here.
    pub collectors: Vec<Collector>,
    /// The cluster engine, when one runs.
    pub corosync: Option<CorosyncFacts>,
    /// Bridges on the host (a virtualisation host's `vmbr0`) by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub bridges: BTreeMap<InterfaceName, BridgeFacts>,
    /// Bonds on the host by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub bonds: BTreeMap<InterfaceName, BondFacts>,
    /// Whose virtual machine the host is, in the words of systemd-detect-virt(1): `kvm`, `vmware`,
    /// `microsoft`, …, or `none`; absent when nobody looked or it does not show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub virtualization: Option<String>,
    /// What stands below its pools; absent on a host without SCSI disks and ZFS pools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<StorageFacts>,
    /// The certificates by which its watch listens for other machines, and by which it speaks with a quorum device.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub certificates: Vec<CertificateFacts>,
    /// The files with the secrets by which its cluster's nodes know each other, and by which they fence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<SecretFacts>,
}

/// Where `hawser apply` keeps the passwords of fence devices on a head, a file each.
pub const SECRET_DIRECTORY: &str = "/etc/hawser/secrets";

/// A file with a secret. What is in it is not read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SecretFacts {
    /// Its path.
    pub file: String,
    /// When it was written last, in seconds since 1970 UTC.
    pub modified: u64,
    /// Who may do what with it: its permission bits (chmod(1)).
    pub mode: u32,
    /// Whether every user can get as far as the file: all folders above it let others pass.
    pub reached_by_all: bool,
}

/// A certificate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CertificateFacts {
    /// The file that it is in.
    pub file: String,
    /// Who uses it.
    #[serde(default)]
    pub user: CertificateUser,
    /// From when it is valid, in seconds since 1970 UTC.
    pub not_before: u64,
    /// Until when.
    pub not_after: u64,
    /// When that was looked at, by the host's clock.
    pub read_at: u64,
}

/// Who uses a certificate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CertificateUser {
    /// A watch that listens for other machines.
    #[default]
    Watch,
    /// corosync-qdevice, which speaks with the server of a quorum device.
    QuorumDevice,
}

/// What decides where a bridge sends multicast. Its ports are its interface's `lower`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BridgeFacts {
    /// It sends a group only to ports that asked for it (`multicast_snooping`).
    pub multicast_snooping: bool,
    /// It asks for memberships itself (`multicast_querier`).
    pub multicast_querier: bool,
    /// The queriers it hears or is, one a family (`IFLA_BR_MCAST_QUERIER_STATE`).
    pub queriers: Vec<IpAddr>,
    /// Ports that get every group, since a querier or router was heard there.
    pub router_ports: Vec<InterfaceName>,
    /// Groups and the ports that asked for them (`bridge mdb`).
    pub groups: Vec<(IpAddr, InterfaceName)>,
    /// How many groups it may remember before it stops filtering (`mcast_hash_max`); absent when it was not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash_max: Option<u32>,
    /// VLANs that pass it, by port, the bridge's own interface among them; absent where it does not filter (`vlan_filtering` 0).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vlans: Option<BTreeMap<InterfaceName, Vec<VlanRange>>>,
}

/// VLANs from one number to another, both included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VlanRange {
    /// The first.
    pub from: u16,
    /// The last.
    pub to: u16,
}

impl BridgeFacts {
    /// Whether a VLAN passes a port; yes where nothing is filtered.
    pub fn passes(&self, port: &InterfaceName, vlan: u16) -> bool {
        self.vlans.as_ref().is_none_or(|ports| {
            let ranges = ports.get(port).map_or(&[][..], Vec::as_slice);
            ranges
                .iter()
                .any(|range| (range.from..=range.to).contains(&vlan))
        })
    }
}

/// A network interface.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Interface {
    /// Kernel interface index.
    pub index: u32,
    /// Addresses with prefix length.
    pub addresses: Vec<(IpAddr, u8)>,
    /// Its MTU.
    pub mtu: Option<Mtu>,
    /// Administratively up (`IFF_UP`).
    pub up: bool,
    /// Carrier present (`IFF_LOWER_UP`).
    pub carrier: bool,
    /// Speed the driver reports; absent when it reports none.
    pub speed: Option<BitsPerSec>,
    /// `full` or `half`, when reported.
    pub duplex: Option<String>,
    /// Driver name (`ETHTOOL_GDRVINFO`).
    pub driver: Option<String>,
    /// Physical device under it (VLAN, bond member, bridge port): names of lower interfaces.
    pub lower: Vec<InterfaceName>,
    /// PCI (or other bus) address of the device, when it has one: equal on ports of one card.
    pub bus: Option<String>,
    /// Offload features that are on (`ethtool -k`).
    pub features_on: Vec<String>,
    /// Permanent or current MAC address, colon form.
    pub mac: Option<String>,
    /// The MAC address it answers with, where that is another: a member of a bond, one set by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac_in_use: Option<String>,
    /// Addresses that the kernel does not use, since another host answered for them (duplicate
    /// address detection, `IFA_F_DADFAILED`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dad_failed: Vec<IpAddr>,
    /// The PCI Express link of its card, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pcie: Option<PcieLink>,
    /// The VLAN that it is of the interface below it; absent for what is no VLAN.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vlan: Option<u16>,
    /// How its packets travel, where it is a tunnel whose way is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tunnel: Option<Tunnel>,
}

/// What an interface has counted of lost packets; absent: it does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortCounts {
    /// Received damaged.
    pub rx_errors: Option<Packets>,
    /// Could not be sent.
    pub tx_errors: Option<Packets>,
    /// Received and dropped before a protocol saw them.
    pub rx_dropped: Option<Packets>,
    /// Dropped on their way to it.
    pub tx_dropped: Option<Packets>,
    /// Its card had no room for them.
    pub rx_missed: Option<Packets>,
}

/// How the packets of a tunnel travel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tunnel {
    /// The interface that they leave by.
    pub over: InterfaceName,
    /// Bytes that its headers put in front of each, the Ethernet header inside among them.
    pub headers: u32,
}

/// The link between a card and its slot, as sysfs tells it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PcieLink {
    /// Transfers a second on one lane, in millions (`current_link_speed`: 8.0 GT/s is 8000).
    pub lane_mt_per_s: u32,
    /// Lanes in use (`current_link_width`).
    pub lanes: u32,
    /// What the card itself could do (`max_link_speed`).
    pub card_lane_mt_per_s: Option<u32>,
    /// What the card itself could do (`max_link_width`).
    pub card_lanes: Option<u32>,
}

impl Interface {
    /// Whether `address` is in a network of this interface.
    pub fn reaches(&self, address: IpAddr) -> bool {
        let networks = self.addresses.iter();
        let mut networks = networks.filter_map(|(own, prefix)| IpNet::new(*own, *prefix).ok());
        networks.any(|network| network.contains(&address))
    }

    /// Whether it has this address.
    pub fn has(&self, address: IpAddr) -> bool {
        self.addresses.iter().any(|(own, _)| *own == address)
    }

    /// Whether `mac` is one of its MAC addresses.
    pub fn has_mac(&self, mac: &str) -> bool {
        [&self.mac, &self.mac_in_use]
            .into_iter()
            .any(|own| own.as_deref() == Some(mac))
    }

    /// The MAC address it answers with.
    pub fn answers_with(&self) -> Option<&str> {
        self.mac_in_use.as_deref().or(self.mac.as_deref())
    }
}

/// A collector and whether it can run on this host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Collector {
    /// Its name: `drop-reasons`, `tap`, `sock-diag`, `nftables`, …
    pub name: String,
    /// Why it cannot run here; absent when it can.
    pub unavailable: Option<String>,
}

/// A running Corosync, read without disturbing it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CorosyncFacts {
    /// Its process id in the agent's pid namespace.
    pub pid: u32,
    /// `totem.token` in force, from its runtime map (`corosync-cmapctl`).
    pub token: Option<Nanos>,
    /// Runtime statistics (`corosync-cmapctl -m stats`): knet link state, retransmits, pauses.
    pub stats: BTreeMap<String, String>,
    /// How the kernel schedules it; absent when that was not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<EngineProcess>,
}

/// The process of a cluster engine, as the kernel sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EngineProcess {
    /// Its real-time priority, 1 to 99; 0 for none (`rt_priority`, proc_pid_stat(5)).
    pub realtime_priority: u32,
    /// Memory that cannot be paged out (`VmLck`, proc_pid_status(5)).
    pub locked: Bytes,
    /// Memory that it has (`VmRSS`).
    pub resident: Bytes,
}

/// What one host's counters and events did while a window was open.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostWindow {
    /// How long the window was open.
    pub elapsed: Nanos,
    /// What each counter gained.
    pub counters: Counters,
    /// The kernel's own words on drops; absent when that collector does not run here.
    pub drops: Option<Vec<DropRecord>>,
    /// Drop events that the collector itself lost (its map was full). Zero: complete.
    pub drops_missed: u64,
    /// What passed the interfaces; absent when that collector does not run here.
    pub taps: Option<Vec<TapRecord>>,
    /// Sockets of other programs that dropped in the window, `drops` being the gain.
    pub sockets: Vec<SocketFacts>,
    /// Of a watch: what was sent to each client of the host's storage that was sent something.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub served: Vec<ServedClient>,
    /// How each processor spent the time (`/proc/stat`), by its number.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub processors: BTreeMap<u32, ProcessorTime>,
    /// Who else had a good part of a processor, the busiest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub busy: Vec<BusyProgram>,
    /// Where the kernel sent what it had for the watched flows' receivers, as far as it knew.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub neighbours: Vec<NeighbourFacts>,
    /// Through which interface this host would answer the watched flows' senders.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<AnswerRoute>,
}

/// The interface through which a kernel would answer a packet (`ip route get SENDER from OWN`): what a
/// strict `rp_filter` compares with the one that it came in on (RFC 3704).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AnswerRoute {
    /// The sender's address.
    pub to: IpAddr,
    /// The host's own, to which the packet went.
    pub from: IpAddr,
    /// The interface; absent when there is no route.
    pub interface: Option<InterfaceName>,
}

/// The MAC address that a kernel had for a flow's receiver (`ip neigh get`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NeighbourFacts {
    /// The receiver's address.
    pub address: IpAddr,
    /// When the window was opened; absent when none was known.
    pub mac_before: Option<String>,
    /// When it was closed.
    pub mac_after: Option<String>,
    /// The entry's state when it was closed, as `ip neigh` names it: `PERMANENT` was set by hand or by a program;
    /// `FAILED` and `INCOMPLETE` have no MAC address. Absent when there was no entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
}

impl HostFacts {
    /// The interface that carries `address`.
    pub fn interface_with(&self, address: IpAddr) -> Option<(&InterfaceName, &Interface)> {
        self.interfaces
            .iter()
            .find(|(_, interface)| interface.has(address))
    }

    /// An interface and all under it (a VLAN's parent, the members of a bond, the ports of a bridge), all the way down.
    pub fn with_lower<'a>(&'a self, top: &'a InterfaceName) -> BTreeSet<&'a InterfaceName> {
        self.with_taken(top, |interface| interface.lower.iter().collect())
    }

    /// An interface and of all under it what is taken, all the way down.
    pub fn with_taken<'a>(
        &'a self,
        top: &'a InterfaceName,
        taken: impl Fn(&'a Interface) -> Vec<&'a InterfaceName>,
    ) -> BTreeSet<&'a InterfaceName> {
        let mut found = BTreeSet::new();
        let mut waiting = vec![top];
        while let Some(name) = waiting.pop() {
            if found.insert(name) {
                waiting.extend(self.interfaces.get(name).map(&taken).into_iter().flatten());
            }
        }
        found
    }

    /// A sysctl as a number (the first one where it holds several).
    pub fn sysctl_number(&self, name: &str) -> Option<u64> {
        self.sysctls
            .get(name)?
            .split_whitespace()
            .next()?
            .parse()
            .ok()
    }
}
