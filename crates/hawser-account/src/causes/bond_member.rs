//! One flow fills one member of a bond, and the others stay idle: a bond spreads flows, not packets
//! (`layer2+3`, `layer3+4`), and a single stream is no faster than a single member.
//!
//! Evidence: a stream's interface has several members that are up, all but a few of its packets left
//! through one of them (`link/MEMBER/tx_packets`), and its rate is nearly that member's speed. Certain
//! by the counters; a note, since it is how bonds work. Case: `bond-one-member`; there is no
//! bonding in the lab's kernel, so the counters are as they would be.

use hawser_model::finding::{Confidence, Finding, Place, Severity};
use hawser_model::names::InterfaceName;

use super::Cause;
use super::support::Draft;
use crate::losses::Losses;
use crate::packets::facts::Side;
use crate::stream::{StreamView, rates, streams};
use crate::view::View;

pub(super) const CAUSE: Cause = Cause {
    code: "bond-one-member",
    find,
};

/// Of the stream's packets, through one member, in per cent.
const PINNED: u64 = 95;

/// Of the member's speed, payload only, in per cent.
const FULL: u64 = 85;

fn find(view: &View<'_>, _: &mut Losses) -> Vec<Finding> {
    streams(view.case)
        .iter()
        .filter_map(|stream| pinned(view, stream))
        .collect()
}

fn pinned(view: &View<'_>, stream: &StreamView<'_>) -> Option<Finding> {
    let facts = &stream.facts;
    let host = facts.host(Side::Sender);
    let (name, interface) = facts.interface(Side::Sender)?;
    let all = &view.host(host)?.interfaces;
    let members: Vec<(&InterfaceName, u64)> = interface
        .lower
        .iter()
        .filter(|member| all.get(*member).is_some_and(|m| m.up && m.carrier))
        .map(|member| {
            let sent = facts.counter(Side::Sender, &format!("link/{member}/tx_packets"));
            (member, sent)
        })
        .collect();
    let total = members
        .iter()
        .fold(0u64, |sum, (_, n)| sum.saturating_add(*n));
    let (busiest, sent) = members.iter().max_by_key(|(_, sent)| *sent)?;
    let speed = all.get(*busiest)?.speed.filter(|s| s.0 > 0)?;
    let late = rates(facts.phase).late.0.saturating_mul(8);
    let fits = members.len() > 1
        && total > 0
        && sent.saturating_mul(100) >= total.saturating_mul(PINNED)
        && late.saturating_mul(100) >= speed.0.saturating_mul(FULL);
    let place = Place {
        host: Some(host.clone()),
        peer: Some(facts.host(Side::Receiver).clone()),
        link: Some(facts.link().clone()),
        interface: Some(name.clone()),
        object: Some((*busiest).to_string()),
    };
    fits.then(|| {
        Draft::new(CAUSE.code, Severity::Note, Confidence::Certain, place)
            .number("members", members.len() as u64)
            .percent("through_one_percent", *sent, total)
            .number("member_bits_per_s", speed.0)
            .number("bits_per_s", late)
            .done()
    })
}
