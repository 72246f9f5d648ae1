//! A host's IP layer refuses the packets for a reason that has no cause of its own here: no
//! route, an address that is not the host's, a frame for another MAC address, a bad header, a
//! packet larger than a route allows.
//!
//! Evidence: packets in the layers sender-ip and receiver-ip; the reason is the kernel's.
//! An error. Cases: `ip-layer-drop`, `ip-layer-no-route`.

use hawser_model::account::Layer;
use hawser_model::finding::Place;
use hawser_model::units::Packets;
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words, as_number, host, in_brackets, on_link};
use crate::causes::support::{Lost, claim_sides, lost_on, main_reason};
use crate::losses::Losses;
use crate::view::View;

#[derive(Serialize)]
pub(crate) struct IpLayerDrop {
    reason: String,
    #[serde(serialize_with = "as_number")]
    outgoing: bool,
    #[serde(flatten)]
    lost: Lost,
}

impl CheckCause for IpLayerDrop {
    fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Found<Self>> {
        let layers = [Layer::SenderIp, Layer::ReceiverIp];
        let claimed = claim_sides(losses, Self::CODE, layers).into_iter();
        let found = claimed.map(|(outgoing, host, group)| {
            let evidence = Self {
                reason: main_reason(&group),
                outgoing,
                lost: Lost::of(view, &group),
            };
            lost_on(view, &host, &group, evidence)
        });
        found.collect()
    }

    fn cost(&self) -> Packets {
        self.lost.lost_packets
    }
}

impl Cause for IpLayerDrop {
    const CODE: &'static str = "ip-layer-drop";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
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
            fix: format!(
                "Look at {look}: a missing or wrong route, an address on another host or interface, \
                 a foreign MAC address in a static neighbour entry."
            ),
        }
    }
}
