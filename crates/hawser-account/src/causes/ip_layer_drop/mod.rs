//! A host's IP layer refuses the packets for a reason that has no cause of its own here: no
//! route, an address that is not the host's, a frame for another MAC address, a bad header, a
//! packet larger than a route allows.
//!
//! Evidence: packets in the layers sender-ip and receiver-ip; the reason is the kernel's. If the
//! sender's neighbour table has a MAC address for the receiver that the receiver does not have, the
//! receiver refuses frames that were never for it, or they go to another port and are lost between the hosts, and the
//! sender is the host to repair if somebody set the entry there; if its kernel learnt it, who answers with it is. The latter is certain if frames to the right address arrive, else likely.
//! An error. Cases: `ip-layer-drop`, `ip-layer-no-route`, `ip-layer-drop-neighbour`, `ip-layer-drop-permanent`,
//! `ip-layer-drop-stale`, `ip-layer-drop-other-entry`,
//! `ip-layer-drop-learnt`.

use std::collections::BTreeMap;
use std::net::IpAddr;

use hawser_model::account::Layer;
use hawser_model::case::Measurement;
use hawser_model::finding::{Confidence, Place};
use hawser_model::host::HostFacts;
use hawser_model::names::HostName;
use hawser_model::units::Packets;
use serde::Serialize;

use crate::cause::{
    Cause, CheckCause, Found, Words, as_number, host, in_brackets, interface, on_link, peer,
};
use crate::causes::claims::{Lost, claim_sides, lost_on, main_reason, only};
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
    /// The host of the case that has that MAC address.
    #[serde(skip_serializing_if = "Option::is_none")]
    neighbour_host: Option<HostName>,
    /// The entry's, as `ip neigh` names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    neighbour_state: Option<String>,
    /// The sender's kernel asked for the address and believed an answer.
    #[serde(skip)]
    learnt: bool,
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

/// Entries that came of an answer (`NUD_VALID` without those that are set, `include/net/neighbour.h`).
const LEARNT: [&str; 4] = ["REACHABLE", "STALE", "DELAY", "PROBE"];

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
    let has_mac = |host: &HostFacts| host.interfaces.values().any(|i| i.has_mac(mac));
    let receivers = has_mac(view.host(facts.host(Side::Receiver))?);
    let mut hosts = view.case.hosts.iter();
    let owner = hosts.find(|(_, host)| has_mac(host));
    (entry.mac_after.as_ref() == Some(mac) && !receivers).then(|| WrongNeighbour {
        neighbour_address: address,
        neighbour_mac: mac.clone(),
        peer_mac: facts
            .interface(Side::Receiver)
            .and_then(|(_, i)| i.answers_with())
            .map(str::to_owned),
        neighbour_host: owner.map(|(name, _)| name.clone()),
        neighbour_state: entry.state.clone(),
        learnt: (entry.state.as_deref()).is_some_and(|state| LEARNT.contains(&state)),
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
            learnt: wrong.iter().all(|w| w.learnt),
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
        Some(
            lost_on(view, &sender, &group, evidence).at_most(match proven {
                true => Confidence::Certain,
                // A router that answers for the receiver (proxy ARP) may have lost it behind itself.
                false => Confidence::Likely,
            }),
        )
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
        let owner = match &self.neighbour_host {
            Some(owner) => format!("{mac}, which is {owner}'s and not {peer}'s"),
            None => format!("{mac}, which {peer} does not have"),
        };
        let text = format!(
            "{sender} sends what is for {peer} ({address}) to the MAC address {owner} ({own}): {became}."
        );
        if self.learnt {
            return Words {
                text: format!(
                    "{text} The entry at {sender} was not set by hand (it is not PERMANENT): its kernel learnt it from who answered for the address."
                ),
                fix: self.find_who_answers(at, &why),
            };
        }
        Words {
            text,
            fix: match self.neighbour_state.as_deref() {
                Some(PERMANENT) => format!(
                    "Repair {sender}: the entry was set by hand (PERMANENT), so the kernel never asks for the address. `ip neigh del {address} \
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

    /// What to do where the sender's kernel believed a wrong answer.
    fn find_who_answers(&self, at: &Place, why: &str) -> String {
        let (sender, address, mac) = (host(at), self.neighbour_address, &self.neighbour_mac);
        let interface = interface(at);
        let ask = match address {
            IpAddr::V4(_) => format!("arping -c 3 -I {interface} {address}"),
            IpAddr::V6(_) => format!("ndisc6 {address} {interface}"),
        };
        let whose = match &self.neighbour_host {
            Some(owner) => format!("it is {owner}'s"),
            None => "no host of this check has it; the switch's table of addresses (`bridge fdb show`, `show mac address-table`) has its \
                     port"
                .to_owned(),
        };
        format!(
            "Find who answers for {address} with {mac}: {whose}. `{ask}` on {sender} shows each who answers now. There, switch off what \
             answers for others (`proxy_arp`, `proxy_ndp`, a router's or a container network's), or take the address away. If {} alone \
             answers, the entry is left over: `ip neigh del {address} dev {interface}` on {sender}, once.{why}",
            peer(at),
        )
    }
}
