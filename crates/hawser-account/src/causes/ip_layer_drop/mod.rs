//! A host's IP layer refuses the packets for a reason that has no cause of its own here: no
//! route, an address that is not the host's, a frame for another MAC address, a bad header, a
//! packet larger than a route allows.
//!
//! Evidence: packets in the layers sender-ip and receiver-ip; the reason is the kernel's. If the
//! sender's neighbour table has a MAC address for the receiver that the receiver does not have, the
//! receiver refuses frames that were never for it, and the sender is the host to repair.
//! An error. Cases: `ip-layer-drop`, `ip-layer-no-route`, `ip-layer-drop-neighbour`.

use std::collections::BTreeMap;
use std::net::IpAddr;

use hawser_model::account::Layer;
use hawser_model::finding::Place;
use hawser_model::names::HostName;
use hawser_model::units::Packets;
use serde::Serialize;

use crate::cause::{
    Cause, CheckCause, Found, Words, as_number, host, in_brackets, interface, on_link, peer,
};
use crate::causes::support::{Lost, claim_sides, lost_on, main_reason};
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
}

/// The kernel's reason for a frame with another host's MAC address.
const OTHERS_FRAME: &str = "OTHERHOST";

/// The MAC address that the sender had for the receiver of a lost packet, from beginning to end, and that is none of that
/// host's.
fn wrong_neighbour(view: &View<'_>, loss: &Loss) -> Option<WrongNeighbour> {
    let facts = &view.phases[loss.phase].facts;
    let address = facts.phase.spec.receiver;
    if loss.layer != Some(Layer::ReceiverIp)
        || loss.reason != OTHERS_FRAME
        || loss.path != view.phases[loss.phase].path()
    {
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
    })
}

/// The senders whose neighbour table has a wrong MAC address, each with what its receiver refused for it.
fn of_wrong_neighbours(view: &View<'_>, losses: &mut Losses) -> Vec<Found<IpLayerDrop>> {
    let claimed = losses.claim(IpLayerDrop::CODE, |l| wrong_neighbour(view, l).is_some());
    let mut by_entry: BTreeMap<(HostName, WrongNeighbour), Vec<Loss>> = BTreeMap::new();
    for loss in claimed {
        if let Some(wrong) = wrong_neighbour(view, &loss) {
            let sender = loss.path.from.clone();
            by_entry.entry((sender, wrong)).or_default().push(loss);
        }
    }
    let found = by_entry.into_iter().map(|((sender, wrong), group)| {
        let evidence = IpLayerDrop {
            reason: main_reason(&group),
            outgoing: true,
            wrong: Some(wrong),
            lost: Lost::of(view, &group),
        };
        lost_on(view, &sender, &group, evidence)
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
        Words {
            text: format!(
                "{sender} sends what is for {peer} ({address}) to the MAC address {mac}, which {peer} does not have ({own}): \
                 {peer} refused {lost}{}.",
                on_link(at),
            ),
            fix: format!(
                "Repair {sender}: `ip neigh show {address}` there, and `ip neigh del {address} dev {}` if the entry is \
                 static (PERMANENT).{why}",
                interface(at),
            ),
        }
    }
}
