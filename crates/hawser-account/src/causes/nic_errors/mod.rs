//! An interface loses frames for reasons other than a full ring: damaged frames (CRC, a bad
//! cable or transceiver), carrier errors, a driver that could not send, a frame larger than
//! the receiving port takes.
//!
//! Evidence: packets in the layers sender-nic and receiver-nic that are not the ring's. An
//! error. In a watch, which sends nothing: many of them in a minute, by the counter alone; a warning. Cases: `nic-errors`,
//! `nic-errors-transmit`, `nic-errors-counted`,
//! `nic-errors-counted-bond`; near misses: `nic-errors-short-counted`, `nic-errors-short-lost`.

use hawser_model::account::Layer;
use hawser_model::finding::Place;
use hawser_model::units::Packets;
use serde::Serialize;

pub(crate) mod counted;

use crate::cause::{
    Cause, CheckCause, Found, Words, as_number, at_interface, host, in_brackets, interface,
};
use crate::causes::claims::{Lost, claim_sides, lost_on, main_reason};
use crate::compare::topic::{About, Topic};
use crate::losses::Losses;
use crate::view::View;

#[derive(Serialize)]
pub(crate) struct NicErrors {
    reason: String,
    #[serde(serialize_with = "as_number")]
    outgoing: bool,
    #[serde(flatten)]
    lost: Lost,
}

impl CheckCause for NicErrors {
    fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Found<Self>> {
        let layers = [Layer::SenderNic, Layer::ReceiverNic];
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

impl Cause for NicErrors {
    const CODE: &'static str = "nic-errors";
    const PAGE: &'static str = include_str!("page.md");
    const ABOUT: &[About] = &[
        Topic::Firmware.any(),
        Topic::Driver.any(),
        Topic::Card.any(),
        Topic::Speed.any(),
    ];

    fn words(&self, at: &Place) -> Words {
        let way = match self.outgoing {
            true => "could not send",
            false => "did not take",
        };
        Words {
            text: format!(
                "{} {way} {}{}.",
                at_interface(at),
                self.lost,
                in_brackets(&self.reason)
            ),
            fix: fix(&self.reason, at),
        }
    }
}

/// What to do about frames that are counted so.
fn fix(reason: &str, at: &Place) -> String {
    let damaged = ["crc", "frame", "carrier"]
        .iter()
        .any(|word| reason.contains(word));
    match damaged {
        true => format!(
            "Damaged frames come from the cable, the transceiver or the port: reseat or \
                     exchange them one at a time and watch `ethtool -S {0}` and `ip -s link show \
                     {0}`.",
            interface(at)
        ),
        false => format!(
            "`ip -s -s link show {0}` and `ethtool -S {0}` on {1} name the counter; then the \
                     driver's documentation, its firmware, and the size of the frames against the \
                     port's MTU.",
            interface(at),
            host(at),
        ),
    }
}
