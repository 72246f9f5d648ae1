//! What the receiving socket itself dropped or delivered damaged.
//!
//! `SK_MEMINFO_DROPS` is exact for the socket but mixes causes: no room in the buffer
//! (`SOCKET_RCVBUFF`), no room in `udp_mem` (`PROTO_MEM`), a wrong checksum, found at
//! `recv()` (`UDP_CSUM`), and what a check in front of the buffer refused: an IPsec policy, a
//! filter on the socket or its cgroup, a security module (`net/ipv4/udp.c`:
//! `udp_queue_rcv_one_skb`, `__udp_enqueue_schedule_skb`, `__first_packet_length`). Counters and
//! events of the host split it. The last has no counter of its own: it is what `InErrors` holds
//! beyond the others.

use hawser_model::case::Phase;
use hawser_model::drops::DropSubject;
use hawser_model::units::Packets;

use super::events::Event;
use super::facts::{PhaseFacts, Side};

/// The kernel's reasons for what a check in front of the buffer refused.
pub(crate) const CHECKS: [&str; 3] = [FILTER, POLICY, "SECURITY_HOOK"];

/// A filter on the socket or on its cgroup (`sk_filter_trim_cap`, `net/core/filter.c`).
pub(crate) const FILTER: &str = "SOCKET_FILTER";

/// An IPsec policy (`xfrm4_policy_check`).
pub(crate) const POLICY: &str = "XFRM_POLICY";

/// How the counters of IPsec's refusals of arriving packets begin (`/proc/net/xfrm_stat`).
pub(crate) const POLICY_COUNTERS: &str = "xfrm/XfrmIn";

/// What counts every packet that a socket did not take, by family.
const ERRORS: [&str; 2] = ["udp/InErrors", "udp6/InErrors"];

/// Whether a line's reason says that a check refused the packets and not which one.
pub(crate) fn is_unnamed_refusal(reason: &str) -> bool {
    ERRORS.contains(&reason)
}

/// A receiving socket's losses by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OwnSocket {
    /// Read by the program, but with a wrong probe checksum.
    pub(crate) delivered_corrupted: u64,
    /// Dropped for a wrong UDP checksum.
    pub(crate) checksum: u64,
    /// Dropped for want of `udp_mem`.
    pub(crate) memory: u64,
    /// Refused in front of the buffer, for each of [`CHECKS`].
    pub(crate) refused: [u64; CHECKS.len()],
    /// The same, by which of them is not known.
    pub(crate) refused_unnamed: u64,
    /// Dropped because the buffer was full.
    pub(crate) buffer: u64,
}

impl OwnSocket {
    /// All together.
    pub(crate) fn total(&self) -> u64 {
        let known = [
            self.delivered_corrupted,
            self.checksum,
            self.memory,
            self.refused_unnamed,
            self.buffer,
        ];
        let all = known.iter().chain(&self.refused);
        all.fold(0, |sum, n| sum.saturating_add(*n))
    }
}

/// What the host's counters say of its sockets' drops.
struct Counted {
    checksum: u64,
    memory: u64,
    buffer: u64,
    /// Refused in front of the buffer: an error, and none of the above.
    refused: u64,
    /// All that no socket of the host took.
    errors: u64,
}

impl Counted {
    /// By the counters of one family (`udp`, `udp6`).
    fn of(counter: impl Fn(&str) -> u64) -> Self {
        let (checksum, memory, buffer) = (
            counter("InCsumErrors"),
            counter("MemErrors"),
            counter("RcvbufErrors"),
        );
        let known = checksum.saturating_add(memory).saturating_add(buffer);
        let errors = counter("InErrors");
        Self {
            checksum,
            memory,
            buffer,
            refused: errors.saturating_sub(known),
            errors,
        }
    }
}

/// Splits the socket's drops.
pub(crate) fn split(facts: &PhaseFacts<'_>, events: &[Event]) -> OwnSocket {
    let report = &facts.phase.receiver;
    let drops = report.socket_drops.0;
    let (udp, _) = facts.families();
    let counted = Counted::of(|name| facts.counter(Side::Receiver, &format!("{udp}/{name}")));
    let seen = |reason: &str| {
        events
            .iter()
            .filter(|e| e.side == Side::Receiver && e.reason == reason)
            .fold(0, |sum: u64, e| sum.saturating_add(e.packets))
    };
    // Foreign sockets move the host's counters too: the events of our own packets are a
    // floor, the counters a ceiling, and what no other cause can hold must be this one's.
    let no_room = counted.buffer.saturating_add(counted.memory);
    let checksum = share(
        drops,
        seen("UDP_CSUM").saturating_add(seen("SKB_CSUM")),
        counted.checksum,
        no_room.saturating_add(counted.refused),
    );
    let rest = drops - checksum;
    let memory = share(
        rest,
        seen("PROTO_MEM"),
        counted.memory,
        counted.buffer.saturating_add(counted.refused),
    );
    let rest = rest - memory;
    let named = CHECKS.map(seen);
    let refused = share(
        rest.saturating_sub(seen("SOCKET_RCVBUFF")),
        named.iter().fold(0, |sum: u64, n| sum.saturating_add(*n)),
        counted.refused,
        counted.buffer,
    );
    let (named, unnamed) = name(refused, named);
    // So many errors are none of this socket's: a datagram whose own length is damaged reaches none (`short_packet` of
    // `__udp4_lib_rcv`, net/ipv4/udp.c). Where damage is what the host counts most, it is the rest of that.
    let elsewhere = counted.errors.saturating_sub(drops);
    let damaged = match counted.checksum > counted.refused {
        true => unnamed
            .min(elsewhere)
            .min(counted.checksum.saturating_sub(checksum)),
        false => 0,
    };
    let (checksum, unnamed) = (checksum + damaged, unnamed - damaged);
    OwnSocket {
        delivered_corrupted: report.corrupted.0,
        checksum,
        memory,
        refused: named,
        refused_unnamed: unnamed,
        buffer: rest - refused,
    }
}

/// Deals what was refused out to the checks that were seen; what is left over is the one's, if one alone was seen (under
/// overload events come short), and else nobody's.
fn name(refused: u64, seen: [u64; CHECKS.len()]) -> ([u64; CHECKS.len()], u64) {
    let mut rest = refused;
    let mut named = seen.map(|n| {
        let part = n.min(rest);
        rest -= part;
        part
    });
    let mut guilty = named.iter_mut().filter(|n| **n > 0);
    if let (Some(one), None) = (guilty.next(), guilty.next()) {
        *one += rest;
        rest = 0;
    }
    (named, rest)
}

/// Whether most of what the receiving socket dropped was refused in front of its buffer: by the kernel's events of the flow,
/// or because the host's counters have no other drops to tell of.
pub(crate) fn mostly_refused(phase: &Phase) -> bool {
    let drops = phase.receiver.socket_drops.0;
    let window = &phase.receiver_window;
    let own = DropSubject::Flow(phase.spec.flow);
    let events = window.drops.iter().flatten();
    let seen = events
        .filter(|e| e.subject == own && CHECKS.contains(&e.reason.as_str()))
        .fold(Packets(0), |sum, e| sum + e.packets);
    let family = if phase.spec.source.is_ipv4() {
        "udp"
    } else {
        "udp6"
    };
    let counted = Counted::of(|name| window.counters.or_zero(&format!("{family}/{name}")));
    let rest = counted.buffer.saturating_add(counted.memory);
    let must = share(
        drops,
        seen.0,
        counted.refused,
        rest.saturating_add(counted.checksum),
    );
    drops > 0 && must.saturating_mul(2) > drops
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
