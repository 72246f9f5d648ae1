//! The receiving socket's buffer is smaller than a burst. The reader is fast enough for the
//! rate and waits between bursts; it only cannot be there in time. This is the report every
//! cluster operator has met: UDP loses at 800 Mbit/s while TCP does 6 Gbit/s, `netstat -su`
//! shows receive errors, and Corosync "failed to receive".
//!
//! Evidence: the socket's own drops (`SK_MEMINFO_DROPS`, `SOCKET_RCVBUFF`), a drain rate
//! above the arrival rate, packet memory × burst against the buffer. Certain when the rates
//! are clearly apart, else likely, as it is when a burst alone would fit; possible when the
//! reader was not timed. An error.
//! Cases: `receive-buffer-too-small`, `counters-only-rcvbuf`.

use hawser_model::account::Layer;
use hawser_model::finding::{Confidence, Finding, Severity};
use hawser_model::names::HostName;

use super::Cause;
use super::socket_drain::{Pace, unpaced};
use super::support::{Draft, by_host, place_on};
use crate::losses::{Loss, Losses};
use crate::view::View;

pub(super) const CAUSE: Cause = Cause {
    code: "receive-buffer-too-small",
    find,
};

fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Finding> {
    let claimed = losses.claim(CAUSE.code, |l| l.layer == Some(Layer::SocketBuffer));
    by_host(claimed)
        .into_iter()
        .map(|(host, group)| finding(view, &host, &group))
        .collect()
}

fn finding(view: &View<'_>, host: &HostName, group: &[Loss]) -> Finding {
    let place = place_on(view, host, group);
    // The phase that lost most speaks for the group; what it would have taken, all of them.
    let paces: Vec<(u64, Pace, &Loss)> = group
        .iter()
        .map(|l| (l.packets, Pace::of(view.phases[l.phase].facts.phase), l))
        .collect();
    let needed = paces.iter().map(|(_, pace, _)| pace.needed).max();
    let longest = paces.iter().map(|(_, pace, _)| pace.longest_run).max();
    let most = paces.iter().max_by_key(|(packets, _, _)| *packets);
    let timed = most.is_some_and(|(_, pace, _)| pace.capacity.is_some());
    let clear = most.is_some_and(|(_, pace, _)| pace.clear());
    // A burst that fits is not what filled the buffer: several came together.
    let fits = most.is_some_and(|(_, pace, loss)| {
        !unpaced(view.phases[loss.phase].facts.phase) && pace.takes_bursts()
    });
    let confidence = match (timed, clear) {
        (true, _) if fits => Confidence::Likely,
        (true, true) => Confidence::Certain,
        (true, false) => Confidence::Likely,
        (false, _) => Confidence::Possible,
    };
    let mut draft = Draft::new(CAUSE.code, Severity::Error, confidence, place).losses(view, group);
    if let Some((_, pace, loss)) = most {
        let phase = view.phases[loss.phase].facts.phase;
        draft = draft
            .number("unpaced", u64::from(unpaced(phase)))
            .maybe("buffer_lasts_ns", pace.buffer_lasts)
            .number("buffer_bytes", phase.receiver.buffer_granted.0)
            .maybe("asked_bytes", phase.receiver.buffer_asked.map(|b| b.0))
            .maybe(
                "burst_packets",
                (!unpaced(phase)).then_some(u64::from(phase.spec.burst)),
            )
            .number("packet_memory_bytes", pace.packet_memory)
            .number("packet_memory_measured", u64::from(pace.memory_measured))
            .maybe("arrival_packets_per_s", pace.arrival)
            .maybe("capacity_packets_per_s", pace.capacity)
            .maybe("idle_percent", pace.idle_percent);
    }
    draft
        .maybe("longest_loss_run_packets", longest)
        .maybe("needed_buffer_bytes", needed)
        .maybe(
            "rmem_default_bytes",
            view.sysctl(host, "net.core.rmem_default"),
        )
        .maybe("rmem_max_bytes", view.sysctl(host, "net.core.rmem_max"))
        .done()
}
