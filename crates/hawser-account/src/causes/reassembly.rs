//! Datagrams larger than the MTU could not be put together: a fragment is missing, or the
//! receiver's reassembly memory (`ipfrag_high_thresh`) is too small. One lost fragment costs
//! the whole datagram, so the loss of datagrams is a multiple of the loss of frames.
//!
//! Evidence: `ReasmFails`, the gauge of unfinished datagrams, or `FRAG_*` events, in excess of
//! what other layers of the same path explain. An error. Cases: `reassembly-failure`,
//! `reassembly-memory`.

use hawser_model::account::Layer;
use hawser_model::finding::{Finding, Severity};

use super::Cause;
use super::support::{Draft, by_host, confidence, counter_over, main_reason, place_on};
use crate::losses::Losses;
use crate::packets::facts::PhaseFacts;
use crate::view::View;

pub(super) const CAUSE: Cause = Cause {
    code: "reassembly-failure",
    find,
};

fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Finding> {
    by_host(losses.claim(CAUSE.code, |l| l.layer == Some(Layer::Reassembly)))
        .into_iter()
        .map(|(host, group)| {
            let ip = |facts: &PhaseFacts<'_>| facts.families().1;
            let failed = counter_over(view, &host, &group, |facts, side| {
                facts.counter(side, &format!("{}/ReasmFails", ip(facts)))
            });
            let waiting = counter_over(view, &host, &group, |facts, side| {
                let gauge = if ip(facts) == "ip" {
                    "frag/inuse"
                } else {
                    "frag6/inuse"
                };
                facts.counter(side, gauge)
            });
            let fragments = group
                .iter()
                .map(|l| view.phases[l.phase].facts.fragments())
                .max();
            Draft::new(
                CAUSE.code,
                Severity::Error,
                confidence(&group),
                place_on(view, &host, &group),
            )
            .name("reason", &main_reason(&group))
            .losses(view, &group)
            .number("reassembly_failures", failed)
            .number("unfinished_datagrams", waiting)
            .maybe("fragments_per_datagram", fragments)
            .maybe(
                "ipfrag_high_thresh_bytes",
                view.sysctl(&host, "net.ipv4.ipfrag_high_thresh"),
            )
            .done()
        })
        .collect()
}
