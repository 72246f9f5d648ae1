//! A switch or peer tells the sender's NIC to pause (IEEE 802.3, 31B), again and again: the sender's
//! own queue fills and drops, and one slow receiver behind the switch stops everybody who sends there.
//!
//! Evidence: the driver counted pause frames received by the flow's interface while the sender's
//! queueing discipline or NIC dropped. Likely. An error. Case: `pause-storm`, with the counters' names
//! of mlx5; a veth has no pause frames, so the lab cannot plant it.

use hawser_model::account::Layer;
use hawser_model::finding::{Confidence, Finding, Severity};

use super::Cause;
use super::support::{Draft, by_host, counter_over, place_on};
use crate::losses::{Loss, Losses};
use crate::packets::facts::{PhaseFacts, Side};
use crate::view::View;

pub(super) const CAUSE: Cause = Cause {
    code: "pause-storm",
    find,
};

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

fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Finding> {
    let open: Vec<Loss> = losses.open().filter(|l| is_waiting(l)).cloned().collect();
    let mut found = Vec::new();
    for (host, group) in by_host(open) {
        let received = counter_over(view, &host, &group, pauses);
        if received < LEAST {
            continue;
        }
        let group = losses.claim(CAUSE.code, |l| {
            is_waiting(l) && l.host.as_ref() == Some(&host)
        });
        let place = place_on(view, &host, &group);
        found.push(
            Draft::new(CAUSE.code, Severity::Error, Confidence::Likely, place)
                .losses(view, &group)
                .number("pause_frames_received", received)
                .done(),
        );
    }
    found
}
