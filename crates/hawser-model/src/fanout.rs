//! Fan-out: one multicast flow, and how many receivers of it a host serves before it loses some.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ladder::HostUsage;
use crate::names::{HostName, InterfaceName};
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
    /// Receivers counted in the kernel and read nothing: what is measured is this host's copying and delivering, as
    /// where receivers have processors of their own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub count_only: bool,
    /// Each host that was measured, one after the other.
    pub hosts: BTreeMap<HostName, FanoutHost>,
}

/// What was measured on a host. Sender, bridge and receivers are namespaces made for it: this is
/// what its kernel and processors can do, and no network card takes part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FanoutHost {
    /// The processors that the measurement may use (`sched_getaffinity`).
    pub processors: Vec<u32>,
    /// The bridge of the host whose receivers' settings [`Spread::AsSet`] copies; absent when nothing
    /// on the host receives behind a bridge, which is measured as the kernel makes an interface.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bridge: Option<InterfaceName>,
    /// One search a rate and way of spreading the work.
    pub series: Vec<FanoutSeries>,
    /// How many groups it takes, when that was measured instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<GroupsMeasured>,
    /// Why nothing could be measured; absent when something was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// How many groups a socket, a host and a bridge take. One receiver behind a bridge joins them; another guest joins none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GroupsMeasured {
    /// Groups that were to be joined.
    pub asked: u32,
    /// Groups that one socket joined.
    pub one_socket: u32,
    /// What the kernel answered to its next join; absent when it joined all.
    pub refused: Option<String>,
    /// Groups that were joined with as many sockets as that takes.
    pub joined: u32,
    /// `net.ipv4.igmp_max_memberships` of the receiver, which is the host's; absent when it was not read.
    pub max_memberships: Option<u32>,
    /// How many groups the bridge may remember (`hash_max`); absent when it was not read.
    pub hash_max: Option<u32>,
    /// The bridge filtered before the joins.
    pub filtered_before: bool,
    /// And after them.
    pub filters_after: bool,
    /// Of one packet to each joined group, those that reached the receiver.
    pub arrived: u32,
    /// Packets that reached the guest that joined none, meanwhile.
    pub strayed: u64,
}

impl GroupsMeasured {
    /// What the bridge did with that many groups.
    pub const fn bridge(&self) -> &'static str {
        match (self.filtered_before, self.filters_after) {
            (true, true) => "filters",
            (true, false) => "stopped filtering",
            (false, _) => "does not filter",
        }
    }
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
    /// The same, but each receiver's interface is set as those of the host's own receivers are, one
    /// after the other.
    AsSet,
}

impl Spread {
    /// All, in the order in which they are measured.
    pub const ALL: [Self; 4] = [Self::Default, Self::OneContext, Self::Split, Self::Threaded];

    /// Those that a tune measures before: what is, and what could be.
    pub const TUNED: [Self; 3] = [Self::AsSet, Self::Split, Self::Threaded];

    /// As people call it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::OneContext => "one context",
            Self::Split => "split by RPS",
            Self::Threaded => "threaded NAPI",
            Self::AsSet => "as it is set",
        }
    }
}

/// How a receiver's interface is set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReceiverSetting {
    /// Processors to which it hands its packets (`rps_cpus` of its first queue); `0`: none.
    pub cpus: String,
    /// It merges what it receives, without which a veth has no NAPI.
    pub gro: bool,
    /// Its NAPI has a kernel thread.
    pub threaded: bool,
}

impl Default for ReceiverSetting {
    /// As the kernel makes a veth.
    fn default() -> Self {
        Self {
            cpus: "0".to_owned(),
            gro: false,
            threaded: false,
        }
    }
}

/// One processor as `rps_cpus` writes it: hexadecimal words of 32 bits, the highest first
/// (Documentation/networking/scaling.rst).
pub fn processor_mask(processor: u32) -> String {
    let lower = ",00000000".repeat((processor / 32) as usize);
    format!("{:x}{lower}", 1u32 << (processor % 32))
}

/// The first so many processors, one at least, written in the same way.
pub fn first_processors_mask(count: u32) -> String {
    // `NR_CPUS` is 8192 at most on x86 (arch/x86/Kconfig).
    let last = count.clamp(1, 8192) - 1;
    let lower = ",ffffffff".repeat((last / 32) as usize);
    format!("{:x}{lower}", u32::MAX >> (31 - last % 32))
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
    /// What all receivers got together, each packet once a receiver (with `count_only`: as often as it came).
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
        Packets(self.sent.0.saturating_mul(u64::from(self.receivers)))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_written_in_words_of_32_bits() {
        assert_eq!(processor_mask(0), "1");
        assert_eq!(processor_mask(5), "20");
        assert_eq!(processor_mask(32), "1,00000000");
        assert_eq!(processor_mask(71), "80,00000000,00000000");
        assert_eq!(first_processors_mask(0), "1");
        assert_eq!(first_processors_mask(4), "f");
        assert_eq!(first_processors_mask(32), "ffffffff");
        assert_eq!(first_processors_mask(33), "1,ffffffff");
        assert_eq!(first_processors_mask(40), "ff,ffffffff");
        assert_eq!(first_processors_mask(64), "ffffffff,ffffffff");
    }
}
