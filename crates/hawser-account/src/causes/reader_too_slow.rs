//! The receiving program takes fewer packets a second than arrive. The buffer fills, whatever
//! its size; a larger one only postpones the loss. The cure is in the program or in the CPU
//! it gets.
//!
//! Evidence: the socket's own drops, and a drain rate (packets read over the time the reader
//! was busy) below the arrival rate; it hardly ever waits. Certain when the rates are clearly
//! apart, else likely. An error; a warning when the flow was unpaced and the reader our own,
//! since that is the host's limit rather than a fault. Case: `reader-too-slow`.

use hawser_model::account::Layer;
use hawser_model::finding::{Confidence, Finding, Severity};

use super::Cause;
use super::socket_drain::{Pace, unpaced};
use super::support::{Draft, by_host, place_on};
use crate::losses::Losses;
use crate::view::View;

pub(super) const CAUSE: Cause = Cause {
    code: "reader-too-slow",
    find,
};

fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Finding> {
    let claimed = losses.claim(CAUSE.code, |l| {
        l.layer == Some(Layer::SocketBuffer)
            && Pace::of(view.phases[l.phase].facts.phase).too_slow()
    });
    by_host(claimed)
        .into_iter()
        .map(|(host, group)| {
            let phases = || group.iter().map(|l| &view.phases[l.phase].facts);
            let own_limit = phases().all(|f| unpaced(f.phase));
            let clear = phases().all(|facts| Pace::of(facts.phase).clear());
            let severity = match own_limit {
                true => Severity::Warning,
                false => Severity::Error,
            };
            let confidence = match clear {
                true => Confidence::Certain,
                false => Confidence::Likely,
            };
            let mut draft = Draft::new(
                CAUSE.code,
                severity,
                confidence,
                place_on(view, &host, &group),
            )
            .losses(view, &group)
            .number("unpaced", u64::from(own_limit));
            let most = group.iter().max_by_key(|l| l.packets);
            if let Some(loss) = most {
                let facts = &view.phases[loss.phase].facts;
                let pace = Pace::of(facts.phase);
                draft = draft
                    .maybe("arrival_packets_per_s", pace.arrival)
                    .maybe("capacity_packets_per_s", pace.capacity)
                    .maybe("idle_percent", pace.idle_percent)
                    .number("buffer_bytes", facts.phase.receiver.buffer_granted.0);
            }
            draft.done()
        })
        .collect()
}
