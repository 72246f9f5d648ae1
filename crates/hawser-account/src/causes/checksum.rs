//! Packets arrive damaged. Where the receiver verifies, UDP drops them (`InCsumErrors`, found
//! at `recv()`); where it does not (checksum offload between virtual machines, a NIC that
//! says "verified") the program gets them and only the probe's own checksum tells.
//!
//! Evidence: packets in the layer checksum. The damage was done on the way: cable, switch
//! memory, NIC. An error, also at one packet: storage protocols without checksums of their
//! own store such data. Cases: `checksum-errors`, `delivered-corrupted`.

use hawser_model::account::Layer;
use hawser_model::finding::{Finding, Severity};

use super::Cause;
use super::support::{Draft, by_host, confidence, counter_over, place_on};
use crate::losses::{Losses, packets};
use crate::view::View;

pub(super) const CAUSE: Cause = Cause {
    code: "checksum-errors",
    find,
};

fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Finding> {
    by_host(losses.claim(CAUSE.code, |l| l.layer == Some(Layer::Checksum)))
        .into_iter()
        .map(|(host, group)| {
            let delivered: Vec<_> = group
                .iter()
                .filter(|l| l.reason == "delivered corrupted")
                .cloned()
                .collect();
            let counted = counter_over(view, &host, &group, |facts, side| {
                let (udp, _) = facts.families();
                facts.counter(side, &format!("{udp}/InCsumErrors"))
            });
            Draft::new(
                CAUSE.code,
                Severity::Error,
                confidence(&group),
                place_on(view, &host, &group),
            )
            .losses(view, &group)
            .number("delivered_corrupted_packets", packets(&delivered))
            .number("checksum_errors_counted", counted)
            .done()
        })
        .collect()
}
