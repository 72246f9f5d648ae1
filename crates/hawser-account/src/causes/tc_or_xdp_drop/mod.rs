//! A program on the interface drops the packets: a tc filter (`clsact`, policing) or an XDP
//! program. They sit below the packet filter and no `nft list` shows them.
//!
//! Evidence: the layer xdp-tc, or `TC_EGRESS` and `clsact` drops at the sender. An error.
//! Cases: `tc-or-xdp-drop`, `tc-egress-drop`, `xdp-drop-virtio`.

use hawser_model::account::Layer;
use hawser_model::finding::Place;
use hawser_model::units::Packets;
use serde::Serialize;

use crate::cause::{
    Cause, CheckCause, Found, Words, as_number, at_interface, host, in_brackets, interface,
};
use crate::causes::claims::{Lost, by_host, lost_on, main_reason};
use crate::losses::{Loss, Losses};
use crate::view::View;

#[derive(Serialize)]
pub(crate) struct TcOrXdpDrop {
    reason: String,
    #[serde(serialize_with = "as_number")]
    outgoing: bool,
    #[serde(flatten)]
    lost: Lost,
}

fn is_program(loss: &Loss) -> bool {
    match loss.layer {
        Some(Layer::XdpTc) => true,
        Some(Layer::Qdisc) => loss.reason.starts_with("TC_") || loss.reason.contains("/clsact/"),
        _ => false,
    }
}

impl CheckCause for TcOrXdpDrop {
    fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Found<Self>> {
        let claimed = losses.claim(Self::CODE, is_program);
        let found = by_host(claimed).into_iter().map(|(host, group)| {
            let evidence = Self {
                reason: main_reason(&group),
                outgoing: group.iter().any(|l| l.layer == Some(Layer::Qdisc)),
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

impl Cause for TcOrXdpDrop {
    const CODE: &'static str = "tc-or-xdp-drop";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        let way = match self.outgoing {
            true => "egress",
            false => "ingress",
        };
        Words {
            text: format!(
                "A program on the interface (tc or XDP, {way}) of {} drops {}{}. The packet filter's \
                 rules do not show it.",
                at_interface(at),
                self.lost,
                in_brackets(&self.reason),
            ),
            fix: format!(
                "`tc -s filter show dev {0} {way}` and `ip -d link show dev {0}` on {1} name the \
                 program; `tc qdisc del dev {0} clsact` or `ip link set dev {0} xdp off` removes it. \
                 A container network or a protection against floods may have put it there.",
                interface(at),
                host(at),
            ),
        }
    }
}
