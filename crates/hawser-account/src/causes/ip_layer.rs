//! A host's IP layer refuses the packets for a reason that has no cause of its own here: no
//! route, an address that is not the host's, a frame for another MAC address, a bad header, a
//! packet larger than a route allows.
//!
//! Evidence: packets in the layers sender-ip and receiver-ip; the reason is the kernel's.
//! An error. Cases: `ip-layer-drop`, `ip-layer-no-route`.

use hawser_model::account::Layer;
use hawser_model::finding::{Finding, Severity};

use super::Cause;
use super::support::{Draft, by_host, confidence, main_reason, place_on};
use crate::losses::Losses;
use crate::view::View;

pub(super) const CAUSE: Cause = Cause {
    code: "ip-layer-drop",
    find,
};

fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Finding> {
    let mut found = Vec::new();
    for layer in [Layer::SenderIp, Layer::ReceiverIp] {
        let claimed = losses.claim(CAUSE.code, |l| l.layer == Some(layer));
        for (host, group) in by_host(claimed) {
            found.push(
                Draft::new(
                    CAUSE.code,
                    Severity::Error,
                    confidence(&group),
                    place_on(view, &host, &group),
                )
                .name("reason", &main_reason(&group))
                .number("outgoing", u64::from(layer == Layer::SenderIp))
                .losses(view, &group)
                .done(),
            );
        }
    }
    found
}
