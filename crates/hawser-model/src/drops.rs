//! What the kernel itself said of each dropped packet, and what a passive tap saw pass.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::names::InterfaceName;
use crate::traffic::FlowId;
use crate::units::Packets;

/// Drops of one kind, summed over an observation window.
///
/// From the tracepoint `skb:kfree_skb` (`include/trace/events/skb.h`): the reason is the
/// running kernel's own name for it, the location the symbol that freed the packet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DropRecord {
    /// The kernel's `enum skb_drop_reason` name without its prefix: `SOCKET_RCVBUFF`.
    pub reason: String,
    /// The function that dropped it: `veth_xmit`; empty when it could not be resolved.
    pub location: String,
    /// Whether the packet is known to have been dropped on this host.
    pub scope: DropScope,
    /// The interface the packet was on, when it had one.
    pub interface: Option<InterfaceName>,
    /// Whose packets they were.
    pub subject: DropSubject,
    /// How many; super-packets count as the packets they hold.
    pub packets: Packets,
}

/// The word of a kernel that gives no reason.
pub const NO_REASON: &str = "NOT_SPECIFIED";

/// Whether a reason says nothing: older kernels say it of nearly every drop.
pub fn is_vague(reason: &str) -> bool {
    matches!(reason, NO_REASON | "")
}

impl DropRecord {
    /// The kernel's word, with the function where the word says nothing.
    pub fn words(&self) -> String {
        match (is_vague(&self.reason), self.location.as_str()) {
            (false, _) => self.reason.clone(),
            (true, "") => NO_REASON.to_owned(),
            (true, at) => format!("{NO_REASON} @ {at}"),
        }
    }

    /// Whether the other is of the same kind, and differs in nothing but how many.
    pub fn is_kind_of(&self, other: &Self) -> bool {
        let one = (&self.reason, &self.location, &self.interface);
        let two = (&other.reason, &other.location, &other.interface);
        one == two && (self.scope, self.subject) == (other.scope, other.subject)
    }
}

/// What a host's kernel dropped since somebody began to count it, for as long as they look.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DropTotals {
    /// It was counted.
    Counted {
        /// By reason, function and interface.
        drops: Vec<DropRecord>,
        /// Packets that were not counted.
        missed: u64,
    },
    /// It cannot be counted here, and why.
    NotCounted(String),
}

/// Where a drop happened, as far as the kernel's event tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DropScope {
    /// In this host's network namespace.
    ThisHost,
    /// The event names no namespace (no socket, no device): some host on this kernel.
    Unknown,
}

/// Whose packets a drop record counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DropSubject {
    /// Probe packets of one of our flows (addresses, port and probe magic match).
    Flow(FlowId),
    /// Later fragments of a datagram between the flow's addresses: they carry no port.
    FlowFragment(FlowId),
    /// Packets the receiver of the flow echoed back to its sender.
    FlowEcho(FlowId),
    /// Somebody else's packets.
    Other,
}

/// What a passive tap (a counting packet-socket filter) saw of a flow on one interface.
///
/// On transmit the tap sits below the queueing discipline, in front of the driver
/// (`dev_queue_xmit_nit`); on receive above driver, ring and backlog, in front of tc and
/// netfilter (`__netif_receive_skb_core`). So two taps cut a path into three parts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TapRecord {
    /// The flow.
    pub flow: FlowId,
    /// The interface it was seen on.
    pub interface: InterfaceName,
    /// Leaving or arriving.
    pub direction: TapDirection,
    /// Whole packets or first fragments of the flow, intact probe magic.
    pub packets: Packets,
    /// Packets with the flow's addresses and port but a damaged probe magic.
    pub damaged: Packets,
    /// Later fragments between the flow's addresses.
    pub later_fragments: Packets,
}

/// Direction of a tapped packet, seen from the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TapDirection {
    /// Leaving the host.
    Sent,
    /// Arriving at the host.
    Received,
}
