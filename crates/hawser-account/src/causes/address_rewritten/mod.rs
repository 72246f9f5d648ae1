//! Something rewrites the packets' addresses or ports (NAT): the interface of the link carried them, the program got them,
//! and a tap there saw none with the addresses of their flow. While all works nobody notices; a receiver that
//! answers to the address that it sees answers over another link.
//!
//! Evidence: a tap that ran and has no packet of a flow of which all that a socket needs arrived, on an interface that
//! counted as many frames, and none larger than the packets and their link's header: encryption (ESP) and tunnels hide
//! addresses too, and make frames larger. Seen at the sender's tap it is the sender's; else it is between the hosts. Likely if that
//! interface's tap saw another flow, else possible. A warning. Cases: `address-rewritten`, `address-rewritten-between`,
//! `address-rewritten-unproven`; not `address-encrypted`. Packets that leave by another interface: `wrong-interface`.

use std::collections::{BTreeMap, BTreeSet};

use hawser_model::case::PhaseKind;
use hawser_model::drops::TapDirection;
use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::names::InterfaceName;
use hawser_model::units::Packets;
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words, as_number, counted, host, on_link, peer};
use crate::losses::Losses;
use crate::packets::facts::{PhaseFacts, Side};
use crate::view::{Path, View};

#[derive(Serialize)]
pub(crate) struct AddressRewritten {
    received_packets: Packets,
    /// The sender's tap saw none; else only the receiver's.
    #[serde(serialize_with = "as_number")]
    outgoing: bool,
    /// The tap works: it saw others.
    #[serde(serialize_with = "as_number")]
    tap_saw_other_flows: bool,
    /// Echoes that the receiver sent, and sent by another interface.
    #[serde(flatten)]
    answers: Option<Answers>,
}

/// Where the answers went.
#[derive(Serialize)]
struct Answers {
    echoed_packets: Packets,
    echoed_by: InterfaceName,
}

/// A few packets may have been before the tap.
const LEAST_PACKETS: u64 = 20;

/// An Ethernet header with two VLAN tags. ESP (RFC 4303) adds 30 bytes and more, any tunnel an IP header.
const LINK_HEADER: u64 = 22;

/// What is known of a direction.
#[derive(Default)]
struct Seen {
    received: u64,
    unseen: BTreeSet<Side>,
    /// The taps of those interfaces saw other flows.
    proven: bool,
    answers: Option<Answers>,
}

impl CheckCause for AddressRewritten {
    fn find(view: &View<'_>, _: &mut Losses) -> Vec<Found<Self>> {
        let mut directions: BTreeMap<Path, Seen> = BTreeMap::new();
        for phase in &view.phases {
            let facts = &phase.facts;
            let sides = [Side::Sender, Side::Receiver].into_iter();
            let unseen: Vec<Side> = sides.filter(|side| unseen(facts, *side)).collect();
            if unseen.is_empty() {
                continue;
            }
            let seen = directions.entry(phase.path()).or_default();
            seen.received = seen.received.saturating_add(facts.received());
            seen.proven = unseen.iter().all(|side| works(view, facts, *side));
            seen.unseen.extend(unseen);
            seen.answers = answers(facts).or(seen.answers.take());
        }
        let found = directions.into_iter();
        found
            .map(|(path, seen)| finding(view, path, seen))
            .collect()
    }
}

fn finding(view: &View<'_>, path: Path, seen: Seen) -> Found<AddressRewritten> {
    let outgoing = seen.unseen.contains(&Side::Sender);
    let (host, peer) = match outgoing {
        true => (path.from, path.to),
        false => (path.to, path.from),
    };
    let port = view
        .ports()
        .get(&(path.link.clone(), host.clone()))
        .copied();
    Found {
        severity: Severity::Warning,
        confidence: match seen.proven {
            true => Confidence::Likely,
            false => Confidence::Possible,
        },
        place: Place {
            peer: Some(peer),
            link: Some(path.link),
            interface: port.map(|(name, _)| name.clone()),
            ..Place::on(&host)
        },
        evidence: AddressRewritten {
            received_packets: Packets(seen.received),
            outgoing,
            tap_saw_other_flows: seen.proven,
            answers: seen.answers,
        },
    }
}

fn direction(side: Side) -> (TapDirection, &'static str) {
    match side {
        Side::Sender => (TapDirection::Sent, "tx"),
        Side::Receiver => (TapDirection::Received, "rx"),
    }
}

/// Whether the flow passed this side's interface, and its tap saw none of it.
fn unseen(facts: &PhaseFacts<'_>, side: Side) -> bool {
    let kind = facts.phase.kind;
    let whole = facts.fragments() == 1 && facts.sender_unit() == 1;
    if matches!(kind, PhaseKind::Multicast | PhaseKind::Stream) || !whole {
        return false;
    }
    let (Some(taps), Some((own, _))) = (&facts.window(side).taps, facts.interface(side)) else {
        return false;
    };
    let (tapped, way) = direction(side);
    let flow = facts.phase.spec.flow;
    let recorded = taps.iter().any(|t| t.flow == flow && t.direction == tapped);
    let frames = facts.counter(side, &format!("link/{own}/{way}_packets"));
    let bytes = facts.counter(side, &format!("link/{own}/{way}_bytes"));
    let largest = u64::from(facts.packet_size().0) + LINK_HEADER;
    let bare = bytes > 0 && bytes <= frames.saturating_mul(largest);
    let received = facts.received();
    !recorded && received >= LEAST_PACKETS && frames >= received && bare
}

/// Whether the tap of that side's interface saw any flow in this case.
fn works(view: &View<'_>, facts: &PhaseFacts<'_>, side: Side) -> bool {
    let own = facts.interface(side).map(|(name, _)| name);
    let host = facts.host(side);
    view.phases.iter().any(|phase| {
        let sides = [Side::Sender, Side::Receiver].into_iter();
        let mut of_host = sides.filter(|side| phase.facts.host(*side) == host);
        of_host.any(|side| {
            let taps = phase.facts.window(side).taps.iter().flatten();
            taps.into_iter().any(|tap| Some(&tap.interface) == own)
        })
    })
}

/// The one other interface by which the receiver sent its echoes, if its own sent fewer.
fn answers(facts: &PhaseFacts<'_>) -> Option<Answers> {
    let echoed = facts.phase.receiver.echoed.0;
    let (own, _) = facts.interface(Side::Receiver)?;
    let sent =
        |name: &InterfaceName| facts.counter(Side::Receiver, &format!("link/{name}/tx_packets"));
    if echoed < LEAST_PACKETS || sent(own) >= echoed {
        return None;
    }
    let all = facts.host_facts(Side::Receiver)?.interfaces.keys();
    let mut others = all.filter(|name| *name != own && sent(name) >= echoed);
    let by = others.next().filter(|_| others.next().is_none())?;
    Some(Answers {
        echoed_packets: Packets(echoed),
        echoed_by: by.clone(),
    })
}

impl Cause for AddressRewritten {
    const CODE: &'static str = "address-rewritten";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        let (from, to) = match self.outgoing {
            true => (host(at), peer(at)),
            false => (peer(at), host(at)),
        };
        let (link, packets) = (on_link(at), counted(self.received_packets.0, "packet"));
        let who = match self.outgoing {
            true => format!("by NAT on {from}"),
            false => format!("by NAT between {from} and {to}"),
        };
        let are = match self.tap_saw_other_flows {
            true => "they are rewritten",
            false => {
                "they may be rewritten (or that tap does not work: it saw no other flow either)"
            }
        };
        let answers = self.answers.as_ref().map_or(String::new(), |answers| {
            format!(
                " {to} sent its {} out of {}: it saw an address of another link.",
                counted(answers.echoed_packets.0, "answer"),
                answers.echoed_by,
            )
        });
        Words {
            text: format!(
                "{to} received {packets} from {from}{link}, and the tap at the interface of {} saw none with the addresses and ports \
                 of their flow, though the interface counted them: {are}, {who}.{answers} What depends on the \
                 address of the link (Corosync's links, filters) may not know them.",
                host(at),
            ),
            fix: format!(
                "`nft list ruleset | grep -E 'snat|dnat|masquerade|redirect'` and `iptables-save -t nat` on {from}{}. Leave the \
                 cluster's links out of the rule. `tcpdump -ni {} udp` on {} shows the addresses that are there.",
                match self.outgoing {
                    true => ", then on what is between the hosts",
                    false =>
                        " show rules of its own; look first at the routers and firewalls between the hosts",
                },
                crate::cause::interface(at),
                host(at),
            ),
        }
    }
}
