//! What each segment of the path lost, from the two taps.

use super::books::{Bounds, Segment};
use super::events::Event;
use super::facts::{PhaseFacts, Side};
use super::own_socket::{CHECKS, OwnSocket};

/// Losses per segment of a phase of `lost` packets that passed the system call.
pub(crate) fn bounds(
    facts: &PhaseFacts<'_>,
    lost: u64,
    own: &OwnSocket,
    events: &[Event],
) -> Bounds {
    if facts.fragments() > 1 {
        fragmented(facts, lost, own, events)
    } else {
        whole(facts)
    }
}

/// Packets handed to the kernel and accepted.
pub(crate) fn accepted(facts: &PhaseFacts<'_>) -> u64 {
    let refused = facts.phase.sender.refused.values();
    let refused = refused.fold(0, |sum: u64, n| sum.saturating_add(n.0));
    facts.sent().saturating_sub(refused)
}

/// Distinct packets of the flow that the receiver's tap saw. Copies made on the way are not
/// packets of their own; those that reached the program say how many there were.
fn arrived(facts: &PhaseFacts<'_>) -> Option<u64> {
    let tap = facts.tap(Side::Receiver)?;
    let seen = tap.packets.saturating_add(tap.damaged);
    Some(seen.saturating_sub(facts.phase.receiver.duplicates.0))
}

/// Whole datagrams: the taps count the same units as the programs.
fn whole(facts: &PhaseFacts<'_>) -> Bounds {
    Bounds {
        // What left damaged has left: netem damages packets before the tap sees them.
        sender: facts
            .tap(Side::Sender)
            .map(|tap| accepted(facts).saturating_sub(tap.packets.saturating_add(tap.damaged))),
        receiver: arrived(facts).map(|n| n.saturating_sub(facts.received())),
    }
}

/// A number of datagrams known to lie between two.
#[derive(Clone, Copy, Debug, Default)]
struct Range {
    least: u64,
    most: u64,
}

/// Datagrams killed by losing these fragments: at least as if each had lost all it could,
/// at most one each.
fn killed(first: u64, later: u64, fragments: u64) -> Range {
    Range {
        least: first.max(later.div_ceil(fragments.saturating_sub(1).max(1))),
        most: first.saturating_add(later),
    }
}

/// Fragmented datagrams: the taps count first and later fragments, one missing fragment
/// costs the whole datagram, and several missing ones may be of the same.
///
/// Losses of whole datagrams by the receiving socket are exact and come off first. Then each
/// segment gets what it must have cost; what could have been several segments' doing stays
/// with the receiver, where the datagrams as such were given up.
fn fragmented(facts: &PhaseFacts<'_>, lost: u64, own: &OwnSocket, events: &[Event]) -> Bounds {
    let (Some(out), Some(into)) = (facts.tap(Side::Sender), facts.tap(Side::Receiver)) else {
        return Bounds::default();
    };
    let fragments = facts.fragments();
    let accepted = accepted(facts);
    let later_due = accepted.saturating_mul(fragments - 1);
    let in_first = into.packets.saturating_add(into.damaged);
    let out_first = out.packets.saturating_add(out.damaged);
    let at_sender = killed(
        accepted.saturating_sub(out_first),
        later_due.saturating_sub(out.later_fragments),
        fragments,
    );
    let between = killed(
        out_first.saturating_sub(in_first),
        out.later_fragments.saturating_sub(into.later_fragments),
        fragments,
    );
    let (mut first, mut later) = (0u64, 0u64);
    for event in events {
        let beyond_own_socket = !overlaps_own_socket(event);
        if event.side == Side::Receiver
            && event.stage.segment == Segment::ReceiverHost
            && beyond_own_socket
        {
            first = first.saturating_add(event.packets);
            later = later.saturating_add(event.fragments);
        }
    }
    let at_receiver = killed(first, later, fragments);
    let own = own.total().min(lost);
    let [sender, between, receiver] = allot(lost - own, [at_sender, between, at_receiver]);
    let middle_and_known = sender + between + receiver;
    Bounds {
        sender: Some(sender),
        // What no segment must have cost stays here, with the reassembly.
        receiver: Some(own + receiver + (lost - own - middle_and_known)),
    }
}

/// Deals `lost` datagrams out to ranges: first what each must have, in the order of the
/// path, then what only one of them can have.
fn allot(lost: u64, ranges: [Range; 3]) -> [u64; 3] {
    let mut given = [0; 3];
    let mut rest = lost;
    for (share, range) in given.iter_mut().zip(ranges) {
        *share = range.least.min(rest);
        rest -= *share;
    }
    let spare: Vec<u64> = given
        .iter()
        .zip(ranges)
        .map(|(share, range)| range.most.saturating_sub(*share))
        .collect();
    let all = spare.iter().fold(0u64, |sum, n| sum.saturating_add(*n));
    for (i, share) in given.iter_mut().enumerate() {
        let elsewhere = all - spare[i].min(all);
        *share += rest.saturating_sub(elsewhere).min(spare[i]);
    }
    given
}

/// True for events that the socket's own count already holds.
pub(crate) fn overlaps_own_socket(event: &Event) -> bool {
    use hawser_model::account::Layer;
    event.side == Side::Receiver
        && (event.stage.layer == Layer::SocketBuffer
            || CHECKS.contains(&event.reason.as_str())
            || matches!(event.reason.as_str(), "UDP_CSUM" | "SKB_CSUM"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_guilty_segment_gets_every_incomplete_datagram() {
        let none = Range::default();
        // 40 later fragments lost between the hosts, 38 datagrams dead: two lost two.
        assert_eq!(allot(38, [none, killed(0, 40, 6), none]), [0, 38, 0]);
        // The queue and the wire both lost some; only the certain part is dealt out.
        let [queue, wire, _] = allot(38, [killed(20, 0, 6), killed(0, 30, 6), none]);
        assert_eq!((queue, wire), (20, 18));
    }

    #[test]
    fn what_two_segments_may_both_have_cost_is_not_dealt_out() {
        let dealt = allot(10, [killed(0, 10, 6), killed(0, 10, 6), Range::default()]);
        assert!(dealt.iter().sum::<u64>() <= 10);
        assert_eq!(dealt, [2, 2, 0]);
    }
}
