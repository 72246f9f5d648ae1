//! The receivers of a fan-out, and what the host's processors did while they received.

use hawser_kernel::{Processors, receivers, softnet_counters};
use hawser_model::fanout::FanoutWindow;
use hawser_model::traffic::RunKey;
use hawser_model::units::Packets;
use hawser_rungs::fanout::{Fanout, FanoutStep};

use super::{Answer, words};
use crate::protocol::Response;

/// What is built of a fan-out on this node.
#[derive(Default)]
pub(super) struct FanoutStage(Option<Fanout>);

impl FanoutStage {
    pub(super) fn open(&mut self, receivers: u32, key: RunKey) -> Answer {
        // The one before goes first: both together might be more than the host can hold.
        self.0 = None;
        let fanout = Fanout::build(receivers, key).map_err(words)?;
        let processors = fanout.processors().to_vec();
        self.0 = Some(fanout);
        Ok(Response::Processors(processors))
    }

    pub(super) fn measure(&mut self, step: &FanoutStep) -> Answer {
        let fanout = self.0.as_mut().ok_or("no fan-out is open")?;
        // Asked anew for each window: what a trial has turned on the host's own receivers is what the
        // window shows.
        let as_set = match &step.bridge {
            Some(bridge) => receivers(bridge).map_err(words)?,
            None => Vec::new(),
        };
        let ready = fanout.prepare(step, &as_set).map_err(words)?;
        let before = softnet_counters().map_err(words)?;
        let since = Processors::read().map_err(words)?;
        let (sender, sent) = ready.send().map_err(words)?;
        let mut usage = Processors::read().map_err(words)?.since(&since);
        let received = sent.finish().map_err(words)?;
        // What was under way when the sender was done may still be dropped: counters are read last.
        usage.counters = softnet_counters().map_err(words)?.since(&before);
        Ok(Response::Fanout(Box::new(FanoutWindow {
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
        })))
    }

    pub(super) fn close(&mut self) -> Response {
        self.0 = None;
        Response::Done
    }
}
