//! What was exhausted in a window with too many receivers: the processor that handled packets most, and
//! where the lost ones were counted.

use hawser_model::fanout::FanoutWindow;
use hawser_model::ladder::ProcessorTime;
use hawser_model::output::fanout::FanoutLimit;
use hawser_model::units::{Packets, PacketsPerSec};

use super::{rounded, search};
use crate::throughput::{share, stolen_share};

/// What limited this window; `None` when the processors' times were not read.
pub(super) fn limit(window: &FanoutWindow, rate: PacketsPerSec) -> Option<FanoutLimit> {
    let times = &window.usage.processors;
    let (&processor, time) = times
        .iter()
        .max_by(|a, b| softirq(a.1).total_cmp(&softirq(b.1)))?;
    let others = times.iter().filter(|(n, _)| **n != processor);
    let (idle, total) = others.fold((0, 0), |(idle, total), (_, t)| {
        (idle + t.idle.0, total + t.total().0)
    });
    let backlog: u64 = window
        .usage
        .counters
        .under("softnet/")
        .filter(|(name, _)| name.ends_with("/dropped"))
        .map(|(_, value)| value)
        .sum();
    let lost = window.lost();
    // The counters are the machine's: no more is the flow's than was lost.
    let socket = window.socket_drops.min(lost);
    let backlog = Packets(backlog).min(Packets(lost.0 - socket.0));
    Some(FanoutLimit {
        receivers: window.receivers,
        processor,
        softirq_share: rounded(softirq(time), 3),
        busy_share: rounded(1.0 - share(time.idle.0, time.total().0), 3),
        others_idle_share: (total > 0).then(|| rounded(share(idle, total), 3)),
        stolen_share: rounded(stolen_share(&window.usage), 3),
        backlog_drops: backlog,
        socket_drops: socket,
        other_drops: Packets(lost.0 - socket.0 - backlog.0),
        sender_slowed: !search::held(window, rate),
    })
}

fn softirq(time: &ProcessorTime) -> f64 {
    share(time.softirq.0, time.total().0)
}
