//! A window of a fan-out: what the receivers got, and what the host's processors did meanwhile.

use hawser_host::Declined;
use hawser_kernel::{Processors, receivers, softnet_counters};
use hawser_model::fanout::FanoutWindow;
use hawser_model::units::Packets;
use hawser_rungs::fanout::{Fanout, FanoutStep};

/// Measures it.
pub(crate) fn measure_fanout(
    fanout: &mut Fanout,
    step: &FanoutStep,
) -> Result<FanoutWindow, Declined> {
    // Asked again for each window: what a trial has turned on the host's own receivers is what the
    // window shows.
    let as_set = match &step.bridge {
        Some(bridge) => receivers(bridge)?,
        None => Vec::new(),
    };
    let ready = fanout.prepare(step, &as_set)?;
    let before = softnet_counters()?;
    let since = Processors::read()?;
    let (sender, sent) = ready.send()?;
    let mut usage = Processors::read()?.since(&since);
    let received = sent.finish()?;
    // What was under way when the sender was done may still be dropped: counters are read last.
    usage.counters = softnet_counters()?.since(&before);
    Ok(FanoutWindow {
        receivers: step.receivers,
        sent: sender.sent,
        elapsed: sender.elapsed,
        received: received.iter().map(|r| r.received).sum(),
        least: received
            .iter()
            .map(|r| r.received)
            .min()
            .unwrap_or(Packets::ZERO),
        socket_drops: received.iter().map(|r| r.socket_drops).sum(),
        usage,
    })
}
