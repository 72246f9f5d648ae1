//! The account of one phase.
//!
//! In this order: what the system call refused; what the receiving socket says of itself;
//! the kernel's drop events of our own packets; counters, bounded; and what left one host
//! and did not reach the other. Nothing is booked beyond what its segment lost.

use hawser_model::account::{Account, Basis, Layer};

use super::books::{Books, Entry, Segment};
use super::bounds::{self, bounds};
use super::counters;
use super::events::{self, Direction, Event};
use super::facts::{PhaseFacts, Side};
use super::fragments;
use super::own_socket::{self, OwnSocket};
use super::reasons;

/// The account of one phase.
pub(crate) fn account(facts: &PhaseFacts<'_>) -> Account {
    let mut books = Books::open(facts.sent(), facts.received());
    let mut events = events::own(facts, Side::Sender, Direction::Forward);
    events.extend(events::own(facts, Side::Receiver, Direction::Forward));

    refused(facts, &events, &mut books);
    let own = own_socket::split(facts, &events);
    let lost = books.left(Segment::Middle);
    books.cut(bounds(facts, lost, &own, &events));

    own_socket_drops(facts, &own, &mut books);
    own_events(facts, &events, &mut books);
    waiting_for_neighbour(facts, &mut books);
    let contested = counters::book(facts, &mut books);
    if facts.fragments() > 1 {
        fragments::book(facts, &mut books);
    }
    between_hosts(facts, contested, &mut books);
    books.close()
}

/// What the sender's system calls refused, by error.
fn refused(facts: &PhaseFacts<'_>, events: &[Event], books: &mut Books) {
    let neighbour_failed = facts.neighbour_dead
        || events
            .iter()
            .any(|e| e.side == Side::Sender && e.stage.layer == Layer::Neighbour);
    for (errno, packets) in &facts.phase.sender.refused {
        books.book(&Entry {
            segment: Segment::SenderHost,
            host: Some(facts.host(Side::Sender)),
            layer: reasons::refused(errno, neighbour_failed),
            reason: errno,
            packets: packets.0,
            basis: Basis::OwnSocket,
        });
    }
}

/// What the receiving socket says of itself.
fn own_socket_drops(facts: &PhaseFacts<'_>, own: &OwnSocket, books: &mut Books) {
    let (udp, _) = facts.families();
    let unnamed = refusing_policy(facts, own.refused_unnamed)
        .map_or_else(|| format!("{udp}/InErrors"), str::to_owned);
    let lines = [
        (
            Layer::Checksum,
            "delivered corrupted",
            own.delivered_corrupted,
        ),
        (Layer::Checksum, "UDP_CSUM", own.checksum),
        (Layer::ReceiverFilter, &unnamed, own.refused_unnamed),
        (Layer::SocketBuffer, "PROTO_MEM", own.memory),
        (Layer::SocketBuffer, "SOCKET_RCVBUFF", own.buffer),
    ];
    let refused = own_socket::CHECKS.into_iter().zip(own.refused);
    let refused = refused.map(|(reason, packets)| (Layer::ReceiverFilter, reason, packets));
    for (layer, reason, packets) in refused.chain(lines) {
        books.book(&Entry {
            segment: Segment::ReceiverHost,
            host: Some(facts.host(Side::Receiver)),
            layer,
            reason,
            packets,
            basis: Basis::OwnSocket,
        });
    }
}

/// The counter of IPsec's refusals that moved at least that far, if one did.
fn refusing_policy<'a>(facts: &PhaseFacts<'a>, refused: u64) -> Option<&'a str> {
    let counters = &facts.window(Side::Receiver).counters;
    let moved = counters.under(own_socket::POLICY_COUNTERS);
    let mut enough = moved.filter(|(_, moved)| refused > 0 && *moved >= refused);
    enough.next().map(|(name, _)| name)
}

/// The kernel's drop events of the flow's own packets, less what is booked already: a
/// refused packet and a packet dropped by the own socket have an event too.
fn own_events(facts: &PhaseFacts<'_>, events: &[Event], books: &mut Books) {
    let mut known: Vec<(Side, Layer, bool, u64)> = Vec::new();
    for event in events {
        let host = facts.host(event.side);
        let overlaps = event.side == Side::Sender || bounds::overlaps_own_socket(event);
        let key = (event.side, event.stage.layer, overlaps);
        let at = match known.iter().position(|(s, l, o, _)| (*s, *l, *o) == key) {
            Some(at) => at,
            None => {
                let booked = if overlaps {
                    books.booked(host, event.stage.layer)
                } else {
                    0
                };
                known.push((key.0, key.1, key.2, booked));
                known.len() - 1
            }
        };
        let packets = event.packets.saturating_add(event.fragments);
        let already = packets.min(known[at].3);
        known[at].3 -= already;
        books.book(&Entry {
            segment: event.stage.segment,
            host: Some(host),
            layer: event.stage.layer,
            reason: &event.reason,
            packets: packets - already,
            basis: Basis::PerFlow,
        });
    }
}

/// Most packets that can wait for one neighbour: `unres_qlen_bytes` defaults to 212 992 and
/// the smallest packet takes 768 bytes of it (arp(7), `net/core/neighbour.c`).
const MOST_WAITING: u64 = 212_992 / 768;

/// Packets still queued for a link-layer address when the window closed: nothing left the
/// interface, the kernel gave up on the same neighbour, and the queue is not yet timed out.
fn waiting_for_neighbour(facts: &PhaseFacts<'_>, books: &mut Books) {
    let host = facts.host(Side::Sender);
    let nothing_left = facts.tap(Side::Sender).is_some_and(|t| t.packets == 0);
    if nothing_left && facts.neighbour_dead {
        books.book(&Entry {
            segment: Segment::SenderHost,
            host: Some(host),
            layer: Layer::Neighbour,
            reason: "waiting for a neighbour",
            packets: MOST_WAITING,
            basis: Basis::Counter,
        });
    }
}

/// What left one host and did not reach the other. Both taps say so exactly; the interfaces'
/// own counters say how much it was at least, since other traffic only adds to what arrived.
///
/// What counters of the hosts may hold too (`contested`) is not booked here either.
fn between_hosts(facts: &PhaseFacts<'_>, contested: u64, books: &mut Books) {
    let out = facts.tap(Side::Sender);
    let into = facts.tap(Side::Receiver);
    if let (Some(_), Some(_)) = (out, into) {
        books.book(&Entry {
            segment: Segment::Middle,
            host: None,
            layer: Layer::BetweenHosts,
            reason: "seen leaving, not seen arriving",
            packets: books.left(Segment::Middle).saturating_sub(contested),
            basis: Basis::PerFlow,
        });
        return;
    }
    // Interfaces count frames: as many as datagrams only where nothing is cut or joined.
    if facts.fragments() > 1 || facts.sender_unit() > 1 {
        return;
    }
    let (from, to) = (facts.host(Side::Sender), facts.host(Side::Receiver));
    let booked = |layers: &[Layer], host| -> u64 {
        layers.iter().map(|layer| books.booked(host, *layer)).sum()
    };
    let accepted = bounds::accepted(facts);
    let left = match out {
        Some(tap) => tap.packets.saturating_add(tap.damaged),
        None => {
            let before = [
                Layer::SenderFilter,
                Layer::SenderIp,
                Layer::Neighbour,
                Layer::Qdisc,
                Layer::SenderSocket,
            ];
            let refused = facts.sent() - accepted;
            let dropped = booked(&before, from).saturating_sub(refused);
            interface_packets(facts, Side::Sender, "tx_packets")
                .min(accepted.saturating_sub(dropped))
        }
    };
    let arrived = match into {
        Some(tap) => tap
            .packets
            .saturating_add(tap.damaged)
            .saturating_sub(facts.phase.receiver.duplicates.0),
        None => interface_packets(facts, Side::Receiver, "rx_packets"),
    };
    let on_the_way = booked(&[Layer::SenderNic, Layer::Backlog], from)
        + booked(&[Layer::ReceiverNic, Layer::XdpTc, Layer::Backlog], to);
    let packets = left
        .saturating_sub(arrived)
        .saturating_sub(on_the_way)
        .saturating_sub(contested);
    books.book(&Entry {
        segment: Segment::Middle,
        host: None,
        layer: Layer::BetweenHosts,
        reason: "link/tx_packets − link/rx_packets",
        packets,
        basis: Basis::Counter,
    });
}

/// Frames the flow's own interface counted.
fn interface_packets(facts: &PhaseFacts<'_>, side: Side, field: &str) -> u64 {
    facts.interface(side).map_or(0, |(name, _)| {
        facts.counter(side, &format!("link/{name}/{field}"))
    })
}
