//! Fan-out: one multicast flow, and how many receivers of it a host serves before it loses some.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ladder::HostUsage;
use crate::names::HostName;
use crate::units::{Nanos, Packets, PacketsPerSec};

/// The facts of one `hawser check --multicast-fanout`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FanoutRun {
    /// UDP payload of the flow, bytes.
    pub payload: u32,
    /// Packets sent back to back.
    pub burst: u32,
    /// How long a window is.
    pub duration: Nanos,
    /// The most receivers that would be tried.
    pub most: u32,
    /// Each host that was measured, one after the other.
    pub hosts: BTreeMap<HostName, FanoutHost>,
}

/// What was measured on a host. Sender, bridge and receivers are namespaces made for it: this is
/// what its kernel and processors can do, and no network card takes part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FanoutHost {
    /// The processors that the measurement may use (`sched_getaffinity`).
    pub processors: Vec<u32>,
    /// One search a rate and way of spreading the work.
    pub series: Vec<FanoutSeries>,
    /// Why nothing could be measured; absent when something was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// Where the copies of a packet are worked off.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Spread {
    /// Nothing is set: between namespaces, the sender's own system call copies for all.
    Default,
    /// One processor copies and delivers to all: what a network card with one interrupt for the flow
    /// does, made by RPS of the bridge's ingress.
    OneContext,
    /// The same, but each receiver's interface hands its copy to a processor of its own choosing (RPS,
    /// one mask an interface).
    Split,
    /// The same, but each receiver's interface has a kernel thread (threaded NAPI).
    Threaded,
}

impl Spread {
    /// All, in the order in which they are measured.
    pub const ALL: [Self; 4] = [Self::Default, Self::OneContext, Self::Split, Self::Threaded];

    /// As people call it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::OneContext => "one context",
            Self::Split => "split by RPS",
            Self::Threaded => "threaded NAPI",
        }
    }
}

/// One search for the most receivers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FanoutSeries {
    /// Packets a second that were asked of the sender.
    pub rate: PacketsPerSec,
    /// Where the copies were worked off.
    pub spread: Spread,
    /// What was measured, in order.
    pub windows: Vec<FanoutWindow>,
    /// Why it ended early, or could not begin; absent when it came to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// One measurement with a number of receivers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FanoutWindow {
    /// How many received.
    pub receivers: u32,
    /// What the sender sent.
    pub sent: Packets,
    /// How long it sent.
    pub elapsed: Nanos,
    /// What all receivers got together, each packet once a receiver.
    pub received: Packets,
    /// What the receiver got that got least.
    pub least: Packets,
    /// Dropped at the receivers' own sockets, because their programs did not get to read.
    pub socket_drops: Packets,
    /// What processors and their backlogs (`softnet/…`) did while the sender sent.
    pub usage: HostUsage,
}

impl FanoutWindow {
    /// What should have arrived.
    pub fn expected(&self) -> Packets {
        Packets(self.sent.0 * u64::from(self.receivers))
    }

    /// What did not.
    pub fn lost(&self) -> Packets {
        Packets(self.expected().0.saturating_sub(self.received.0))
    }

    /// Lost, as a share of what should have arrived.
    pub fn loss(&self) -> f64 {
        match self.expected().0 {
            0 => 0.0,
            expected => self.lost().0 as f64 / expected as f64,
        }
    }

    /// The rate that the sender reached, packets a second.
    pub fn achieved(&self) -> f64 {
        match self.elapsed.0 {
            0 => 0.0,
            elapsed => self.sent.0 as f64 * 1e9 / elapsed as f64,
        }
    }
}
