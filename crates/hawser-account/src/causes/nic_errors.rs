//! An interface loses frames for reasons other than a full ring: damaged frames (CRC, a bad
//! cable or transceiver), carrier errors, a driver that could not send, a frame larger than
//! the receiving port takes.
//!
//! Evidence: packets in the layers sender-nic and receiver-nic that are not the ring's. An
//! error. Cases: `nic-errors`, `nic-errors-transmit`.

use hawser_model::account::Layer;
use hawser_model::finding::{Finding, Severity};

use super::Cause;
use super::support::{Draft, by_host, confidence, main_reason, place_on};
use crate::losses::Losses;
use crate::view::View;

pub(super) const CAUSE: Cause = Cause {
    code: "nic-errors",
    find,
};

fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Finding> {
    let mut found = Vec::new();
    for layer in [Layer::SenderNic, Layer::ReceiverNic] {
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
                .number("outgoing", u64::from(layer == Layer::SenderNic))
                .losses(view, &group)
                .done(),
            );
        }
    }
    found
}
