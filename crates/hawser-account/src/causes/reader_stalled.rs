//! The receiving program stood still for a while: it is fast enough, the burst fits into the
//! buffer, but for longer than the buffer lasts it was not run. A busy host without real-time
//! priority, a hypervisor that takes the CPU away, memory being swapped, a firmware interrupt.
//! Corosync says of the same "main process was not scheduled for … ms".
//!
//! Evidence: the socket's own drops, and a gap between two reads longer than 10 ms and longer
//! than the buffer lasts at the arrival rate. Certain by these numbers; a warning, since it is
//! the host's doing and not the path's. Case: `reader-stalled`.

use hawser_model::account::Layer;
use hawser_model::case::Phase;
use hawser_model::finding::{Confidence, Finding, Severity};

use super::Cause;
use super::socket_drain::Pace;
use super::support::{Draft, by_host, place_on};
use crate::losses::Losses;
use crate::view::View;

pub(super) const CAUSE: Cause = Cause {
    code: "reader-stalled",
    find,
};

fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Finding> {
    let claimed = losses.claim(CAUSE.code, |l| {
        l.layer == Some(Layer::SocketBuffer) && Pace::of(view.phases[l.phase].facts.phase).stalled()
    });
    by_host(claimed)
        .into_iter()
        .map(|(host, group)| {
            let paces = || {
                group
                    .iter()
                    .map(|l| Pace::of(view.phases[l.phase].facts.phase))
            };
            let phases = || group.iter().map(|l| view.phases[l.phase].facts.phase);
            let real_time = phases().all(has_real_time);
            Draft::new(
                CAUSE.code,
                Severity::Warning,
                Confidence::Certain,
                place_on(view, &host, &group),
            )
            .losses(view, &group)
            .maybe("stall_ns", paces().filter_map(|p| p.stall).max())
            .maybe(
                "buffer_lasts_ns",
                paces().filter_map(|p| p.buffer_lasts).min(),
            )
            .maybe(
                "buffer_bytes",
                phases().map(|p| p.receiver.buffer_granted.0).min(),
            )
            .maybe("needed_buffer_bytes", paces().map(|p| p.needed).max())
            .number("real_time", u64::from(real_time))
            .done()
        })
        .collect()
}

/// The reader asked for real-time priority and got it.
fn has_real_time(phase: &Phase) -> bool {
    phase.spec.realtime && !phase.receiver.not_granted.contains_key("SCHED_RR")
}
