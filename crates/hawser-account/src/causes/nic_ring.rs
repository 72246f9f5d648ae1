//! The receiving NIC's ring is full: frames come faster than the host takes them out of it
//! (too few descriptors for a burst, an interrupt storm, a busy CPU). On a veth the ring is
//! the 256 slots of its NAPI mode (`VETH_RING_SIZE`, `drivers/net/veth.c`).
//!
//! Evidence: the driver's own counters (`rx_missed_errors`, `rx_no_buffer_count`,
//! `rx_out_of_buffer`, …) or `veth_xmit` as the place of the drop. `rx_dropped` alone is not
//! evidence: it also holds harmless drops. An error. Case: `nic-ring-overflow`.

use hawser_model::account::Layer;
use hawser_model::finding::{Finding, Severity};

use super::Cause;
use super::support::{Draft, by_host, confidence, main_reason, place_on};
use crate::losses::{Loss, Losses};
use crate::view::View;

pub(super) const CAUSE: Cause = Cause {
    code: "nic-ring-overflow",
    find,
};

pub(super) fn is_ring(loss: &Loss) -> bool {
    let errors = ["rx_crc_errors", "rx_frame_errors", "rx_length_errors"];
    loss.layer == Some(Layer::ReceiverNic)
        && !loss.reason.contains("dev_forward_skb")
        && !errors.iter().any(|e| loss.reason.ends_with(e))
        && (["driver/", "queue/", "link/"]
            .iter()
            .any(|from| loss.reason.starts_with(from))
            || loss.reason.contains("_xmit")
            || loss.reason == "FULL_RING")
}

fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Finding> {
    by_host(losses.claim(CAUSE.code, is_ring))
        .into_iter()
        .map(|(host, group)| {
            let place = place_on(view, &host, &group);
            let facts = place
                .interface
                .as_ref()
                .and_then(|name| view.host(&host)?.interfaces.get(name));
            let veth = facts.is_some_and(|i| i.driver.as_deref() == Some("veth"));
            Draft::new(CAUSE.code, Severity::Error, confidence(&group), place)
                .name("reason", &main_reason(&group))
                .number("veth", u64::from(veth))
                .losses(view, &group)
                .done()
        })
        .collect()
}
