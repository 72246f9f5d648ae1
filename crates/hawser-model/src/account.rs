//! The packets account: where each lost packet of each flow went, or how many are unexplained.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::names::{HostName, LinkName};
use crate::units::Packets;

/// A place in a packet's way where it can be lost, from the sending program to the receiving one.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Layer {
    /// The sender's system call or socket: refused, or the send buffer was full.
    SenderSocket,
    /// The sender's packet filter (netfilter OUTPUT/POSTROUTING).
    SenderFilter,
    /// The sender's IP layer: no route, larger than the path allows.
    SenderIp,
    /// The sender has no link-layer address for its peer.
    Neighbour,
    /// The sender's queueing discipline, tc egress filters included.
    Qdisc,
    /// The sender's network interface or driver.
    SenderNic,
    /// Left one host and never arrived at the other.
    BetweenHosts,
    /// The receiver's NIC: ring full, missed, frame errors.
    ReceiverNic,
    /// XDP or tc ingress programs on the receiver.
    XdpTc,
    /// The receiver's softnet backlog (`netdev_max_backlog`).
    Backlog,
    /// The receiver's packet filter (netfilter PREROUTING/INPUT).
    ReceiverFilter,
    /// The receiver's IP layer: header, address, reverse-path filter.
    ReceiverIp,
    /// The receiver's reassembly of fragments.
    Reassembly,
    /// Checksum wrong on arrival.
    Checksum,
    /// The receiving socket's buffer was full.
    SocketBuffer,
    /// Nobody listened on the port.
    NoListener,
}

impl Layer {
    /// As people call it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::SenderSocket => "sender's socket",
            Self::SenderFilter => "sender's packet filter",
            Self::SenderIp => "sender's IP",
            Self::Neighbour => "neighbour lookup",
            Self::Qdisc => "sender's qdisc",
            Self::SenderNic => "sender's NIC",
            Self::BetweenHosts => "between the hosts",
            Self::ReceiverNic => "receiver's NIC",
            Self::XdpTc => "XDP or tc ingress",
            Self::Backlog => "softnet backlog",
            Self::ReceiverFilter => "packet filter",
            Self::ReceiverIp => "receiver's IP",
            Self::Reassembly => "reassembly",
            Self::Checksum => "checksum",
            Self::SocketBuffer => "socket buffer",
            Self::NoListener => "no listener",
        }
    }
}

/// A line of the account: packets lost in one layer of one host for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LayerLoss {
    /// The host; absent for what vanished between two hosts.
    pub host: Option<HostName>,
    /// The layer.
    pub layer: Layer,
    /// The kernel's or counter's own word for it: `SOCKET_RCVBUFF`, `udp/RcvbufErrors`.
    pub reason: String,
    /// How many packets of ours.
    pub packets: Packets,
    /// How it is known that they were ours.
    pub basis: Basis,
}

/// How a number came to be booked to a flow, strongest first.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// Counted by the flow's own socket or refused at its own system call.
    OwnSocket,
    /// Counted for packets that carry the flow's addresses, port and key (drop event or tap).
    PerFlow,
    /// A counter of the whole host or interface moved, and nothing else can have moved it by
    /// more than what is left over: other traffic was bounded.
    Counter,
}

impl Basis {
    /// As people call it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::OwnSocket => "counted by Hawser's socket",
            Self::PerFlow => "counted for Hawser's packets",
            Self::Counter => "host counter, other traffic bounded",
        }
    }
}

/// The account of one directed flow, or of all flows together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Account {
    /// Packets the sender used sequence numbers for.
    pub sent: Packets,
    /// Distinct intact packets that arrived.
    pub received: Packets,
    /// `sent − received`.
    pub lost: Packets,
    /// Lost packets that stand in a line of `layers`.
    pub attributed: Packets,
    /// `lost − attributed`.
    pub unattributed: Packets,
    /// The lines.
    pub layers: Vec<LayerLoss>,
}

/// The account of one directed flow: one pair of hosts, one link, all its phases.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FlowAccount {
    /// The sending host.
    pub from: HostName,
    /// The receiving host.
    pub to: HostName,
    /// The link.
    pub link: LinkName,
    /// The numbers.
    #[serde(flatten)]
    pub account: Account,
}

/// The packets account of a run: the sum, and each flow.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PacketsAccount {
    /// Summed over all flows; equal host, layer and reason are one line.
    #[serde(flatten)]
    pub total: Account,
    /// Per directed flow.
    pub flows: Vec<FlowAccount>,
}

impl Account {
    /// True when nothing is unexplained and the lines add up to what was lost.
    pub fn balances(&self) -> bool {
        self.lost == self.sent.saturating_sub(self.received)
            && self.attributed == self.layers.iter().map(|l| l.packets).sum()
            && self.lost == self.attributed + self.unattributed
    }
}
