//! Everything that is sent to one host's MAC address is lost between the hosts, and what is sent to everybody arrives:
//! the switch sends frames for that address to another port. Two ports use one MAC address (a cloned virtual machine, a
//! copied interface file, two bonds), or its table has a static or stale entry.
//!
//! Evidence: nearly all unicast packets were lost between the hosts, although the sender had the receiver's own MAC address
//! for it; then frames to everybody and frames to that address, sent in turn: of the first at least nine in ten were
//! heard, of the second one in ten at most. An access list for IP, or a filter above layer 2, takes no such frame, so it
//! is none of these. That another port uses the address is certain if frames with it as their source came to the receiver itself, or
//! came to the sender, in larger number than the receiver sent any, and hellos show no loop. Otherwise likely. An error. Cases: `unicast-misdirected`, `unicast-stale-entry`, `unicast-filtered`.

use hawser_model::account::Layer;
use hawser_model::case::Measurement;
use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::probe::FramesHeard;
use hawser_model::units::Packets;
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words, as_number, host, interface, on_link, peer};
use crate::causes::claims::Lost;
use crate::losses::{Loss, Losses};
use crate::packets::facts::Side;
use crate::view::{Path, View};

#[derive(Serialize)]
pub(crate) struct UnicastMisdirected {
    mac: String,
    unicast_sent: Packets,
    unicast_heard: Packets,
    broadcast_sent: Packets,
    broadcast_heard: Packets,
    /// With the receiver's MAC address as their source, at the receiver.
    own_address_heard: Packets,
    /// The same at the sender.
    receiver_address_heard: Packets,
    /// What the receiver sent at all meanwhile.
    receiver_sent: Packets,
    /// Another port uses the address: its frames were heard.
    #[serde(serialize_with = "as_number")]
    used_twice: bool,
    #[serde(flatten)]
    lost: Lost,
}

/// Of these frames so many in a hundred arrive, or it is a lossy link.
const HEARD_PER_CENT: u64 = 90;
const MISSED_PER_CENT: u64 = 10;

/// A receiver's interface may count a packet that the card cuts into several frames as one: only more than twice as many frames,
/// and some, were not its own.
const TIMES: u64 = 2;
const MORE: u64 = 10;

impl CheckCause for UnicastMisdirected {
    fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Found<Self>> {
        let mut found = Vec::new();
        for m in &view.case.measurements {
            let Some(heard) = m.frames.as_ref().filter(|heard| misdirected(heard)) else {
                continue;
            };
            let path = Path::of(m);
            let lost = losses.claim(Self::CODE, |l| {
                l.path == path && right_address(view, l, heard)
            });
            if !lost.is_empty() {
                found.push(finding(view, m, heard, &lost));
            }
        }
        found
    }

    fn cost(&self) -> Packets {
        self.lost.lost_packets
    }
}

fn misdirected(heard: &FramesHeard) -> bool {
    let percent = |heard: Packets| heard.0.saturating_mul(100);
    let (all, own) = (heard.broadcast_sent.0, heard.unicast_sent.0);
    all > 0
        && own > 0
        && percent(heard.broadcast_heard) >= all.saturating_mul(HEARD_PER_CENT)
        && percent(heard.unicast_heard) <= own.saturating_mul(MISSED_PER_CENT)
}

/// Lost between the hosts, on its way to the MAC address that the frames went to as well.
fn right_address(view: &View<'_>, loss: &Loss, heard: &FramesHeard) -> bool {
    let facts = &view.phases[loss.phase].facts;
    let receiver = facts.phase.spec.receiver;
    let mut known = facts.window(Side::Sender).neighbours.iter();
    // An entry that fails meanwhile had the address when the packets left.
    let went_to = |mac: &Option<String>| mac.as_ref().is_none_or(|mac| *mac == heard.mac);
    matches!(loss.layer, None | Some(Layer::BetweenHosts))
        && facts.phase.spec.destination == receiver
        && known.any(|n| {
            n.address == receiver
                && (n.mac_before.is_some() || n.mac_after.is_some())
                && went_to(&n.mac_before)
                && went_to(&n.mac_after)
        })
}

fn finding(
    view: &View<'_>,
    m: &Measurement,
    heard: &FramesHeard,
    lost: &[Loss],
) -> Found<UnicastMisdirected> {
    let own = heard.receiver_sent.0.saturating_mul(TIMES);
    let of_others = heard.receiver_address_heard.0 > own.saturating_add(MORE);
    // In a network with a loop a host's own frames come back to it, and misdirect the switches.
    let mut hellos = view.case.hellos.iter().flatten();
    let loops = hellos.any(|hello| hello.on_link == m.link && hello.copies > 1);
    let used_twice = !loops && (heard.own_address_heard.0 > own || of_others);
    let interface = lost.first().and_then(|l| {
        let facts = &view.phases[l.phase].facts;
        facts
            .interface(Side::Receiver)
            .map(|(name, _)| name.clone())
    });
    Found {
        severity: Severity::Error,
        confidence: match used_twice {
            true => Confidence::Certain,
            false => Confidence::Likely,
        },
        place: Place {
            host: Some(m.to.clone()),
            peer: Some(m.from.clone()),
            link: Some(m.link.clone()),
            interface,
            object: view.switch(&m.link),
        },
        evidence: UnicastMisdirected {
            mac: heard.mac.clone(),
            unicast_sent: heard.unicast_sent,
            unicast_heard: heard.unicast_heard,
            broadcast_sent: heard.broadcast_sent,
            broadcast_heard: heard.broadcast_heard,
            own_address_heard: heard.own_address_heard,
            receiver_address_heard: heard.receiver_address_heard,
            receiver_sent: heard.receiver_sent,
            used_twice,
            lost: Lost::of(view, lost),
        },
    }
}

impl Cause for UnicastMisdirected {
    const CODE: &'static str = "unicast-misdirected";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        let (receiver, mac) = (host(at), &self.mac);
        let why = match (self.own_address_heard.0, self.used_twice) {
            (0, true) => format!(
                "{} heard {} frames from {mac} meanwhile, of which {receiver} can have sent {}: another port uses the same MAC address.",
                peer(at),
                self.receiver_address_heard,
                self.receiver_sent,
            ),
            (n, true) => format!(
                "{receiver} itself received {} frames from {mac}: another port uses the same MAC address.",
                Packets(n),
            ),
            (_, false) => "Either another port uses the same MAC address, or the switch has a static or stale entry for it, or the \
                           network has a loop: no frame of another user was made out."
                .to_owned(),
        };
        Words {
            text: format!(
                "What is sent to {receiver}'s MAC address {mac}{} goes elsewhere: {} from {} were lost between the hosts; of {} \
                 frames to that address {} were heard, of {} to everybody {}. {why}",
                on_link(at),
                self.lost,
                peer(at),
                self.unicast_sent,
                self.unicast_heard,
                self.broadcast_sent,
                self.broadcast_heard,
            ),
            fix: format!(
                "Ask the switch on which port it has {mac} (`show mac address-table`, `bridge fdb show`): it should be that of {}'s {}. On \
                 another port there is the other user (a cloned virtual machine, a copied interface file); give one of them another \
                 MAC address. If the entry is static, remove it.",
                receiver,
                interface(at),
            ),
        }
    }
}
