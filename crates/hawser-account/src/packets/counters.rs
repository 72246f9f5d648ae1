//! Attribution by counters: for hosts without drop events, for drops that have none, and to
//! top up events that came short under overload.
//!
//! A counter is of a whole host or interface. It is booked to the flow only
//! - within what the flow's segment lost and nothing better explained,
//! - less what is known to be other people's (their drop events, their sockets' own counts),
//! - where drop events are collected, only for a layer in which the flow had events, or for
//!   drops that raise none;
//! - and where several counters compete for less than they hold together, only with the part
//!   that no other of them can hold.

use hawser_model::account::{Basis, Layer};

use super::books::{Books, Entry, Segment};
use super::events;
use super::facts::{PhaseFacts, Side};

mod receiver;
mod sender;

pub(crate) use receiver::{DAMAGE, damage, is_ring_counter, ring};

/// A counter that may hold losses of the flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) side: Side,
    pub(crate) segment: Segment,
    pub(crate) layer: Layer,
    /// The counter's name, without what the flow has in the name's own words.
    pub(crate) reason: String,
    /// What it gained that is not known to be another counter's or another's packets.
    pub(crate) moved: u64,
    /// The drop raises no event, so that its absence among the events says nothing.
    pub(crate) eventless: bool,
}

/// Families of packet-filter counters whose `…/drops` count what a rule dropped or rejected.
const FILTERS: [&str; 3] = ["nft/", "iptables/", "ip6tables/"];

/// What each dropping rule of a host's packet filter counted.
pub(crate) fn rule_counters<'a>(
    facts: &PhaseFacts<'a>,
    side: Side,
) -> impl Iterator<Item = (&'a str, u64)> {
    let counters = &facts.window(side).counters;
    FILTERS
        .iter()
        .flat_map(|family| counters.under(family))
        .filter(|(name, _)| name.ends_with("/drops"))
}

/// What a host's filter rules dropped, under the name of the busiest of them. A dropped
/// packet meets no further rule, so their counts add up.
fn filter_rules(facts: &PhaseFacts<'_>, side: Side) -> Option<(String, u64)> {
    let (mut busiest, mut sum) = (None, 0u64);
    for (name, drops) in rule_counters(facts, side) {
        sum = sum.saturating_add(drops);
        if busiest.is_none_or(|(_, most)| drops > most) {
            busiest = Some((name, drops));
        }
    }
    busiest.map(|(name, _)| (name.to_owned(), sum))
}

/// Books counters in every segment that still lacks something. Returns what counters of the
/// middle segment may hold of the flow's packets and were not given, for want of proof.
pub(crate) fn book(facts: &PhaseFacts<'_>, books: &mut Books) -> u64 {
    let mut contested = 0;
    let mut done: Vec<usize> = Vec::new();
    for segment in [Segment::Middle, Segment::ReceiverHost, Segment::SenderHost] {
        let cell = books.cell(segment);
        if books.left(segment) == 0 || done.contains(&cell) {
            continue;
        }
        done.push(cell);
        let mut candidates = receiver::candidates(facts, books);
        candidates.extend(sender::candidates(facts, books));
        let mut available: Vec<(Candidate, u64)> = candidates
            .into_iter()
            .filter(|c| books.cell(c.segment) == cell)
            .filter_map(|c| {
                let moved = available(facts, books, &c);
                (moved > 0).then_some((c, moved))
            })
            .collect();
        available.sort_by(|(a, _), (b, _)| {
            (a.segment, a.layer, &a.reason).cmp(&(b.segment, b.layer, &b.reason))
        });
        let open = deal(facts, books, segment, &available);
        if cell == books.cell(Segment::Middle) {
            contested = open;
        }
    }
    contested
}

/// How much of a candidate may be the flow's and is not booked yet.
fn available(facts: &PhaseFacts<'_>, books: &Books, candidate: &Candidate) -> u64 {
    let host = facts.host(candidate.side);
    // What a socket's own checks refused has passed every rule of the packet filter.
    let booked = match candidate.layer {
        Layer::ReceiverFilter => books.booked_beside_socket(host, candidate.layer),
        layer => books.booked(host, layer),
    };
    let window = facts.window(candidate.side);
    let events_complete = window.drops.is_some() && window.drops_missed == 0;
    if events_complete && !candidate.eventless && booked == 0 {
        return 0;
    }
    let others = events::others(facts, candidate.side);
    let others = others.get(&candidate.layer).copied().unwrap_or(0);
    candidate
        .moved
        .saturating_sub(others)
        .saturating_sub(booked)
}

/// Books the candidates of one cell: all of them where they fit together, otherwise of each
/// what the others cannot hold. Returns what was available and not booked.
fn deal(
    facts: &PhaseFacts<'_>,
    books: &mut Books,
    segment: Segment,
    candidates: &[(Candidate, u64)],
) -> u64 {
    let left = books.left(segment);
    let all = candidates
        .iter()
        .fold(0u64, |sum, (_, n)| sum.saturating_add(*n));
    let mut booked = 0;
    for (candidate, available) in candidates {
        let packets = if all <= left {
            *available
        } else {
            let elsewhere = all - available.min(&all);
            left.saturating_sub(elsewhere).min(*available)
        };
        let host = facts.host(candidate.side);
        // A top-up joins the line of the events it completes.
        let reason = books
            .event_reason(host, candidate.layer)
            .filter(|_| !candidate.eventless)
            .unwrap_or(&candidate.reason)
            .to_owned();
        booked += books.book(&Entry {
            segment: candidate.segment,
            host: Some(host),
            layer: candidate.layer,
            reason: &reason,
            packets,
            basis: Basis::Counter,
        });
    }
    all.saturating_sub(booked)
}
