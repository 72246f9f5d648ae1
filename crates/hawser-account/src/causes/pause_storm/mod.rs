//! A switch or peer tells the sender's NIC to pause (IEEE 802.3, 31B), again and again: the sender's
//! own queue fills and drops, and one slow receiver behind the switch stops everybody who sends there.
//!
//! Evidence: the driver counted pause frames received by the flow's interface while the sender's
//! queueing discipline or NIC dropped. Likely. An error. Case: `pause-storm`, with the counters' names
//! of mlx5; a veth has no pause frames, so the lab cannot plant it.

use crate::fixes::Candidate;
use crate::fixes::knobs::At;
use hawser_model::account::Layer;
use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::names::HostName;
use hawser_model::units::Packets;
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words, at_interface, interface, peer};
use crate::causes::claims::{Lost, claim_explained, counter_over, place_on};
use crate::compare::topic::{About, Topic};
use crate::losses::{Loss, Losses};
use crate::packets::facts::{PhaseFacts, Side};
use crate::view::View;

#[derive(Serialize)]
pub(crate) struct PauseStorm {
    #[serde(flatten)]
    lost: Lost,
    pause_frames_received: u64,
}

/// Drivers' names of pause frames received, all priorities together: mlx5, mlx4 and bnx2x, bnxt and
/// others, Intel (XON ends a pause and is no evidence), the standard statistics of ethtool.
const RECEIVED: [&str; 6] = [
    "rx_pause_ctrl_phy",
    "rx_pause",
    "rx_pause_frames",
    "rx_flow_control_xoff",
    "rx_xoff_rx",
    "mac_rx_pause_frames",
];

/// Fewer pauses than this among the lost packets explain nothing.
const LEAST: u64 = 10;

fn is_waiting(loss: &Loss) -> bool {
    matches!(loss.layer, Some(Layer::Qdisc | Layer::SenderNic))
}

/// Pause frames that the flow's devices received.
fn pauses(facts: &PhaseFacts<'_>, side: Side) -> u64 {
    let devices = facts.devices(side);
    let counted = devices.iter().flat_map(|device| {
        RECEIVED.map(|name| facts.counter(side, &format!("driver/{device}/{name}")))
    });
    counted.max().unwrap_or(0)
}

impl CheckCause for PauseStorm {
    fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Found<Self>> {
        let received = |host: &HostName, group: &[Loss]| {
            Some(counter_over(view, host, group, pauses)).filter(|count| *count >= LEAST)
        };
        let claimed = claim_explained(losses, Self::CODE, is_waiting, received).into_iter();
        let found = claimed.map(|(host, group, pause_frames_received)| Found {
            severity: Severity::Error,
            confidence: Confidence::Likely,
            place: place_on(view, &host, &group),
            evidence: Self {
                lost: Lost::of(view, &group),
                pause_frames_received,
            },
        });
        found.collect()
    }

    fn cost(&self) -> Packets {
        self.lost.lost_packets
    }

    fn candidates(&self, at: &At<'_>) -> Vec<Option<Candidate>> {
        vec![at.longer_queue(), at.no_pause()]
    }
}

impl Cause for PauseStorm {
    const CODE: &'static str = "pause-storm";
    const PAGE: &'static str = include_str!("page.md");
    const ABOUT: &[About] = &[Topic::Pause.any()];

    fn words(&self, at: &Place) -> Words {
        Words {
            text: format!(
                "{} was told to pause {} times while it sent to {}, and {} were lost in its own queue: \
                 something behind the switch takes less than is sent to it.",
                at_interface(at),
                self.pause_frames_received,
                peer(at),
                self.lost,
            ),
            fix: format!(
                "Find the slow receiver (`ethtool -S` on all hosts of the link: who sends pause frames). \
                 `ethtool -A {} rx off` lets this host send on, and the switch drop for the slow one \
                 alone.",
                interface(at),
            ),
        }
    }
}
