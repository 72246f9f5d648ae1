//! What the receiving socket itself dropped or delivered damaged.
//!
//! `SK_MEMINFO_DROPS` is exact for the socket but mixes three causes: no room in the buffer
//! (`SOCKET_RCVBUFF`), no room in `udp_mem` (`PROTO_MEM`) and a wrong checksum, found at
//! `recv()` (`UDP_CSUM`) (`net/ipv4/udp.c`: `__udp_enqueue_schedule_skb`,
//! `__first_packet_length`). Counters and events of the host split it.

use super::events::Event;
use super::facts::{PhaseFacts, Side};

/// A receiving socket's losses by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OwnSocket {
    /// Read by the program, but with a wrong probe checksum.
    pub(crate) delivered_corrupted: u64,
    /// Dropped for a wrong UDP checksum.
    pub(crate) checksum: u64,
    /// Dropped for want of `udp_mem`.
    pub(crate) memory: u64,
    /// Dropped because the buffer was full.
    pub(crate) buffer: u64,
}

impl OwnSocket {
    /// All together.
    pub(crate) fn total(&self) -> u64 {
        self.delivered_corrupted
            .saturating_add(self.checksum)
            .saturating_add(self.memory)
            .saturating_add(self.buffer)
    }
}

/// Splits the socket's drops.
pub(crate) fn split(facts: &PhaseFacts<'_>, events: &[Event]) -> OwnSocket {
    let report = &facts.phase.receiver;
    let drops = report.socket_drops.0;
    let (udp, _) = facts.families();
    let counted = |name: &str| facts.counter(Side::Receiver, &format!("{udp}/{name}"));
    let seen = |reason: &str| {
        events
            .iter()
            .filter(|e| e.side == Side::Receiver && e.reason == reason)
            .fold(0, |sum: u64, e| sum.saturating_add(e.packets))
    };
    // Foreign sockets move the host's counters too: the events of our own packets are a
    // floor, the counters a ceiling, and what no other cause can hold must be this one's.
    let checksum = share(
        drops,
        seen("UDP_CSUM").saturating_add(seen("SKB_CSUM")),
        counted("InCsumErrors"),
        counted("RcvbufErrors").saturating_add(counted("MemErrors")),
    );
    let rest = drops - checksum;
    let memory = share(
        rest,
        seen("PROTO_MEM"),
        counted("MemErrors"),
        counted("RcvbufErrors"),
    );
    OwnSocket {
        delivered_corrupted: report.corrupted.0,
        checksum,
        memory,
        buffer: rest - memory,
    }
}

/// One cause's part of `drops`: at least `seen`, at least what the `rival` counters cannot
/// hold, at most `counted`.
fn share(drops: u64, seen: u64, counted: u64, rival: u64) -> u64 {
    let must = if counted > 0 {
        drops.saturating_sub(rival)
    } else {
        0
    };
    seen.max(must).min(counted.max(seen)).min(drops)
}

#[cfg(test)]
mod tests {
    use super::share;

    #[test]
    fn a_socket_s_drops_are_split_by_what_the_counters_can_hold() {
        // Alone on the host: counters add up.
        assert_eq!(share(100, 0, 30, 70), 30);
        // Another socket overflowed 1000 times meanwhile; without events nothing says that
        // the checksum errors were ours.
        assert_eq!(share(100, 0, 30, 1_070), 0);
        // Events say 28 were.
        assert_eq!(share(100, 28, 30, 1_070), 28);
        // No checksum error on the host at all, whatever the other counters miss.
        assert_eq!(share(100, 0, 0, 0), 0);
    }
}
