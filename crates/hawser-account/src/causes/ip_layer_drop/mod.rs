//! A host's IP layer refuses the packets for a reason that has no cause of its own here: no
//! route, an address that is not the host's, a frame for another MAC address, a bad header, a
//! packet larger than a route allows.
//!
//! Evidence: packets in the layers sender-ip and receiver-ip; the reason is the kernel's. If the
//! sender's neighbour table has a MAC address for the receiver that the receiver does not have, the
//! receiver refuses frames that were never for it, or they go to another port and are lost between the hosts, and the
//! sender is the host to repair. The latter is certain if frames to the right address arrive, else likely.
//! An error. Cases: `ip-layer-drop`, `ip-layer-no-route`, `ip-layer-drop-neighbour`, `ip-layer-drop-permanent`,
//! `ip-layer-drop-stale`, `ip-layer-drop-other-entry`.

use std::collections::BTreeMap;
use std::net::IpAddr;

use hawser_model::account::Layer;
use hawser_model::case::Measurement;
use hawser_model::finding::{Confidence, Place};
use hawser_model::names::HostName;
use hawser_model::units::Packets;
use serde::Serialize;

use crate::cause::{
    Cause, CheckCause, Found, Words, as_number, host, in_brackets, interface, on_link, peer,
};
use crate::causes::support::{Lost, claim_sides, lost_on, main_reason, only};
use crate::losses::{Loss, Losses};
use crate::packets::facts::Side;
use crate::view::View;

#[derive(Serialize)]
pub(crate) struct IpLayerDrop {
    reason: String,
    #[serde(serialize_with = "as_number")]
    outgoing: bool,
    #[serde(flatten)]
    wrong: Option<WrongNeighbour>,
    #[serde(flatten)]
    lost: Lost,
}

/// What the sender's neighbour table has for the receiver.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct WrongNeighbour {
    neighbour_address: IpAddr,
    neighbour_mac: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    peer_mac: Option<String>,
    /// The entry's, as `ip neigh` names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    neighbour_state: Option<String>,
    /// The receiver got the frames and refused them; else they came nowhere.
    #[serde(rename = "refused_by_peer", serialize_with = "as_number")]
    refused: bool,
    /// Frames to its own MAC address that it heard, if that were nearly all.
    #[serde(skip_serializing_if = "Option::is_none")]
    unicast_heard: Option<Packets>,
}

/// Frames to the right MAC address that must arrive, in per cent.
const ARRIVED_PER_CENT: u64 = 90;

/// An entry that somebody set and the kernel never asks about.
const PERMANENT: &str = "PERMANENT";

/// The kernel's reason for a frame with another host's MAC address.
const OTHERS_FRAME: &str = "OTHERHOST";

/// The MAC address that the sender had for the receiver of a lost packet, from beginning to end, and that is none of that
/// host's. The receiver refused it, or nothing of the flow came anywhere.
fn wrong_neighbour(view: &View<'_>, loss: &Loss) -> Option<WrongNeighbour> {
    let facts = &view.phases[loss.phase].facts;
    let address = facts.phase.spec.receiver;
    let refused = loss.layer == Some(Layer::ReceiverIp) && loss.reason == OTHERS_FRAME;
    let gone = matches!(loss.layer, None | Some(Layer::BetweenHosts)) && facts.received() == 0;
    if !(refused || gone) || loss.path != view.phases[loss.phase].path() {
        return None;
    }
    let known = &facts.window(Side::Sender).neighbours;
    let entry = known.iter().find(|n| n.address == address)?;
    let mac = entry.mac_before.as_ref()?;
    let interfaces = &view.host(facts.host(Side::Receiver))?.interfaces;
    let receivers = interfaces.values().any(|i| i.has_mac(mac));
    (entry.mac_after.as_ref() == Some(mac) && !receivers).then(|| WrongNeighbour {
        neighbour_address: address,
        neighbour_mac: mac.clone(),
        peer_mac: facts
            .interface(Side::Receiver)
            .and_then(|(_, i)| i.answers_with())
            .map(str::to_owned),
        neighbour_state: entry.state.clone(),
        refused,
        unicast_heard: frames_arrived(facts.measurement),
    })
}

/// Frames to the receiver's own MAC address that it heard, if that were nearly all.
fn frames_arrived(measurement: &Measurement) -> Option<Packets> {
    let frames = measurement.frames.as_ref()?;
    let all = frames.unicast_sent.0.saturating_mul(ARRIVED_PER_CENT);
    (frames.unicast_heard.0.saturating_mul(100) >= all).then_some(frames.unicast_heard)
}

/// The senders whose neighbour table has a wrong MAC address, each with what its receiver refused for it.
fn of_wrong_neighbours(view: &View<'_>, losses: &mut Losses) -> Vec<Found<IpLayerDrop>> {
    let claimed = losses.claim(IpLayerDrop::CODE, |l| wrong_neighbour(view, l).is_some());
    let mut by_entry: BTreeMap<(HostName, IpAddr, String), Vec<(WrongNeighbour, Loss)>> =
        BTreeMap::new();
    for loss in claimed {
        if let Some(wrong) = wrong_neighbour(view, &loss) {
            let sender = loss.path.from.clone();
            let key = (sender, wrong.neighbour_address, wrong.neighbour_mac.clone());
            by_entry.entry(key).or_default().push((wrong, loss));
        }
    }
    let found = by_entry.into_iter().filter_map(|((sender, ..), all)| {
        let (wrong, group): (Vec<WrongNeighbour>, Vec<Loss>) = all.into_iter().unzip();
        // The kernel asks about an entry now and then, so its state moves.
        let state = only(wrong.iter().map(|w| w.neighbour_state.clone())).flatten();
        let wrong = WrongNeighbour {
            neighbour_state: state,
            refused: wrong.iter().all(|w| w.refused),
            ..wrong.into_iter().next()?
        };
        let proven = wrong.refused || wrong.unicast_heard.is_some();
        let evidence = IpLayerDrop {
            reason: main_reason(&group),
            outgoing: true,
            wrong: Some(wrong),
            lost: Lost::of(view, &group),
        };
        let found = lost_on(view, &sender, &group, evidence);
        let at_most = match proven {
            true => Confidence::Certain,
            // A router that answers for the receiver (proxy ARP) may have lost it behind itself.
            false => Confidence::Likely,
        };
        Some(Found {
            confidence: found.confidence.min(at_most),
            ..found
        })
    });
    found.collect()
}

impl CheckCause for IpLayerDrop {
    fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Found<Self>> {
        let mut all = of_wrong_neighbours(view, losses);
        let layers = [Layer::SenderIp, Layer::ReceiverIp];
        let claimed = claim_sides(losses, Self::CODE, layers).into_iter();
        let found = claimed.map(|(outgoing, host, group)| {
            let evidence = Self {
                reason: main_reason(&group),
                outgoing,
                wrong: None,
                lost: Lost::of(view, &group),
            };
            lost_on(view, &host, &group, evidence)
        });
        all.extend(found);
        all
    }

    fn cost(&self) -> Packets {
        self.lost.lost_packets
    }
}

impl Cause for IpLayerDrop {
    const CODE: &'static str = "ip-layer-drop";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        if let Some(wrong) = &self.wrong {
            return wrong.words(&self.lost, at);
        }
        let (way, look) = match self.outgoing {
            true => (
                "before sending them",
                "`ip route get ADDRESS` and `ip -s link` on the sender",
            ),
            false => (
                "on arrival",
                "`nstat -az | grep -E 'InAddr|InHdr|InNoRoutes|InDiscards'` and the addresses of the \
                 interface",
            ),
        };
        Words {
            text: format!(
                "The IP layer of {} drops {}{} {way}{}.",
                host(at),
                self.lost,
                on_link(at),
                in_brackets(&self.reason),
            ),
            fix: match self.outgoing || self.reason != OTHERS_FRAME {
                true => format!(
                    "Look at {look}: a missing or wrong route, an address on another host or interface, \
                 a foreign MAC address in a static neighbour entry."
                ),
                false => format!(
                    "The frames carry a MAC address that is not {0}'s, so repair the sender: `ip neigh show` on {1} \
                     (a static entry), or {0}'s interface, if its MAC address was changed.",
                    host(at),
                    peer(at),
                ),
            },
        }
    }
}

impl WrongNeighbour {
    fn words(&self, lost: &Lost, at: &Place) -> Words {
        let (sender, peer, address) = (host(at), peer(at), self.neighbour_address);
        let mac = &self.neighbour_mac;
        let (own, why) = match &self.peer_mac {
            Some(own) => (
                format!("it answers with {own}"),
                format!(" {peer} has {own} and needs no repair."),
            ),
            None => ("it has another one".to_owned(), String::new()),
        };
        let became = match (self.refused, self.unicast_heard) {
            (true, _) => format!("{peer} refused {lost}{}", on_link(at)),
            (false, None) => format!("{lost}{} came nowhere", on_link(at)),
            (false, Some(heard)) => format!(
                "{lost}{} came nowhere, while {peer} heard {heard} frames that were sent to its own one",
                on_link(at)
            ),
        };
        Words {
            text: format!(
                "{sender} sends what is for {peer} ({address}) to the MAC address {mac}, which {peer} does not have ({own}): \
                 {became}.",
            ),
            fix: match self.neighbour_state.as_deref() {
                Some(PERMANENT) => format!(
                    "Repair {sender}: somebody set the entry (PERMANENT), so the kernel never asks for the address. `ip neigh del {address} \
                     dev {}`, and take it out of the network configuration.{why}",
                    interface(at),
                ),
                _ => format!(
                    "Repair {sender}: `ip neigh show {address}` there, and `ip neigh del {address} dev {}` if the entry is \
                     static (PERMANENT).{why}{}",
                    interface(at),
                    match self.refused || self.unicast_heard.is_some() {
                        true => "",
                        false =>
                            " If that MAC address is a router's that answers for it (proxy ARP), look behind the router.",
                    },
                ),
            },
        }
    }
}
