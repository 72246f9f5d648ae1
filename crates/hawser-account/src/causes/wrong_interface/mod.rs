//! A link's packets do not take the link's interface: a policy rule, a more specific route or
//! a second address in the same subnet sends them out of another one. While that one works
//! nobody notices; the link carries nothing and its redundancy is only on paper.
//!
//! Evidence: packets were received, but the tap on the interface with the link's address saw
//! none (certain), or that interface counted fewer frames than arrived (likely). The sender
//! chose the way, so it is the sender's finding; the receiver's is told only if the packets left by
//! the link's interface and arrived through another one. Prefix lengths that differ between the hosts
//! are named with the host that has the odd one. Packets the
//! kernel dropped on another interface of their own host are told here too. A warning; an
//! error when packets were lost for it. Cases: `wrong-interface`, `wrong-interface-loopback`,
//! `wrong-interface-prefix-lengths`, `counters-only-wrong-interface`.

mod prefixes;

use std::collections::{BTreeMap, BTreeSet};

use hawser_model::account::Layer;
use hawser_model::drops::TapDirection;
use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::names::{HostName, InterfaceName, LinkName};
use hawser_model::units::Packets;
use serde::Serialize;

use self::prefixes::OddPrefixes;
use crate::cause::{Cause, CheckCause, Found, Words, as_number, counted, host, interface, peer};
use crate::causes::cables_swapped::is_crossed;
use crate::causes::claims::place_on;
use crate::losses::{Loss, Losses, packets};
use crate::packets::events::ROUTED_ELSEWHERE;
use crate::packets::facts::{PhaseFacts, Side};
use crate::view::{PhaseView, View};

#[derive(Serialize)]
pub(crate) struct WrongInterface {
    #[serde(serialize_with = "as_number")]
    outgoing: bool,
    received_packets: Packets,
    lost_packets: Packets,
    #[serde(flatten)]
    prefixes: Option<OddPrefixes>,
}

/// A few frames say nothing about a route.
const LEAST_PACKETS: u64 = 20;

#[derive(Default)]
struct Seen {
    received: u64,
    by_tap: bool,
    other: Option<InterfaceName>,
}

impl CheckCause for WrongInterface {
    fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Found<Self>> {
        let mut seen: BTreeMap<(HostName, HostName, LinkName, Side), Seen> = BTreeMap::new();
        for phase in &view.phases {
            for side in [Side::Sender, Side::Receiver] {
                look(phase, side, &mut seen);
            }
        }
        let lost = losses.claim(Self::CODE, |l| {
            l.layer == Some(Layer::SenderIp) && l.reason.starts_with(ROUTED_ELSEWHERE)
        });
        for loss in &lost {
            let other = loss.reason[ROUTED_ELSEWHERE.len()..].split(' ').next();
            let path = &loss.path;
            let key = (
                path.from.clone(),
                path.to.clone(),
                path.link.clone(),
                Side::Sender,
            );
            let seen = seen.entry(key).or_default();
            seen.by_tap = true;
            seen.other = other.map(InterfaceName::from);
        }
        let by_sender: BTreeSet<_> = (seen.keys())
            .filter(|(.., side)| *side == Side::Sender)
            .map(|(from, to, link, _)| (from.clone(), to.clone(), link.clone()))
            .collect();
        seen.into_iter()
            .filter(|((from, to, link, side), _)| {
                let path = (from.clone(), to.clone(), link.clone());
                *side == Side::Sender || !by_sender.contains(&path)
            })
            // The cables lead there: no route does.
            .filter(|((from, to, link, side), _)| {
                *side == Side::Sender || !is_crossed(view, from, to, link)
            })
            .map(|((from, to, link, side), seen)| {
                let own: Vec<Loss> = lost
                    .iter()
                    .filter(|l| side == Side::Sender && l.path.from == from && l.path.to == to)
                    .filter(|l| l.path.link == link)
                    .cloned()
                    .collect();
                finding(view, side, (from, to, link), &seen, &own)
            })
            .collect()
    }

    fn cost(&self) -> Packets {
        self.lost_packets
    }
}

impl Cause for WrongInterface {
    const CODE: &'static str = "wrong-interface";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        let (host, interface, peer) = (host(at), interface(at), peer(at));
        let link = at.link.as_ref().map_or("the link", |link| link.as_str());
        let other = at.object.as_deref().unwrap_or("another interface");
        let way = match self.outgoing {
            true => format!("to {peer} leave"),
            false => format!("from {peer} arrive at"),
        };
        let cost = match self.lost_packets.0 {
            0 => format!(
                " They arrive, so it goes unnoticed, but {interface} carries none of them and is no second way."
            ),
            n => format!(
                " It cost {}, which found no way out there.",
                counted(n, "packet")
            ),
        };
        let (odd, mend) = match &self.prefixes {
            Some(odd) => (odd.text(), odd.fix()),
            None => Default::default(),
        };
        let fix = match self.outgoing {
            true => format!(
                "`ip route get ADDRESS from OWN-ADDRESS` and `ip rule` on {host}: a policy rule, a more \
                 specific route, or two interfaces in one subnet. Each link needs a subnet of its \
                 own; programs may bind to the interface (SO_BINDTODEVICE)."
            ),
            false => format!(
                "{peer} sends through the link's interface, so no route is wrong: look at the cables and ports of \
                 {host}, and whether {other} answers for the link's address (`net.ipv4.conf.*.arp_ignore` on {host})."
            ),
        };
        Words {
            text: format!(
                "Packets of {link} {way} {host} through {other}, not through {interface}.{cost}{odd}"
            ),
            fix: format!("{mend}{fix}"),
        }
    }
}

/// Notes a phase whose packets went past the interface on that side.
fn look(
    phase: &PhaseView<'_>,
    side: Side,
    seen: &mut BTreeMap<(HostName, HostName, LinkName, Side), Seen>,
) {
    let facts = &phase.facts;
    let received = facts.received();
    let Some((own, _)) = facts.interface(side) else {
        return;
    };
    if received < LEAST_PACKETS {
        return;
    }
    let (field, direction) = match side {
        Side::Sender => ("tx_packets", TapDirection::Sent),
        Side::Receiver => ("rx_packets", TapDirection::Received),
    };
    let by_tap = facts.window(side).taps.as_ref().map(|taps| {
        !taps
            .iter()
            .any(|t| t.flow == facts.phase.spec.flow && t.direction == direction)
    });
    let frames = facts.link_counter(side, field);
    let by_counter = facts.sender_unit() == 1
        && facts.window(side).counters.under("link/").next().is_some()
        && frames < received;
    // A tap that saw some but not all is an overloaded one; counters must agree with it.
    let past = match by_tap {
        Some(past) => past && by_counter,
        None => by_counter,
    };
    if past {
        let key = (
            facts.host(Side::Sender).clone(),
            facts.host(Side::Receiver).clone(),
            facts.link().clone(),
            side,
        );
        let entry = seen.entry(key).or_default();
        entry.received += received;
        entry.by_tap = by_tap.is_some();
        entry.other = other_interface(facts, side, own, field, received);
    }
}

/// Another interface that carried at least as many frames.
fn other_interface(
    facts: &PhaseFacts<'_>,
    side: Side,
    own: &InterfaceName,
    field: &str,
    received: u64,
) -> Option<InterfaceName> {
    let interfaces = facts.host_facts(side)?.interfaces.keys();
    interfaces
        .filter(|name| *name != own)
        .map(|name| (facts.counter(side, &format!("link/{name}/{field}")), name))
        .filter(|(frames, _)| *frames >= received)
        .max()
        .map(|(_, name)| name.clone())
}

fn finding(
    view: &View<'_>,
    side: Side,
    (from, to, link): (HostName, HostName, LinkName),
    seen: &Seen,
    lost: &[Loss],
) -> Found<WrongInterface> {
    let (host, peer) = match side {
        Side::Sender => (from, to),
        Side::Receiver => (to, from),
    };
    let port = view.ports().get(&(link.clone(), host.clone())).copied();
    let mut place = place_on(view, &host, lost);
    place.peer = Some(peer.clone());
    place.link = Some(link);
    place.interface = port.map(|(name, _)| name.clone());
    place.object = seen.other.as_ref().map(|name| format!("interface {name}"));
    let severity = match lost.is_empty() {
        true => Severity::Warning,
        false => Severity::Error,
    };
    let confidence = match seen.by_tap {
        true => Confidence::Certain,
        false => Confidence::Likely,
    };
    Found {
        severity,
        confidence,
        place,
        evidence: WrongInterface {
            outgoing: side == Side::Sender,
            received_packets: Packets(seen.received),
            lost_packets: Packets(packets(lost)),
            prefixes: OddPrefixes::of(view, &host, &peer),
        },
    }
}
