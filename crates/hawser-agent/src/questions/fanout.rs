//! Receivers of one multicast flow, as guests behind a bridge.

use std::time::Duration;

use hawser_host::{Answers, Ask, Declined, SLOW, Size, Stop};
use hawser_model::fanout::FanoutWindow;
use hawser_rungs::fanout::{Fanout, FanoutStep};
use serde::{Deserialize, Serialize};

use super::span;
use crate::node::{Node, measure_fanout};

/// Builds so many receivers, instead of any before. Answers the processors that the measurement may use.
#[derive(Debug, Serialize, Deserialize)]
pub struct OpenFanout {
    /// The most that will receive.
    pub receivers: u32,
}

impl Ask for OpenFanout {
    type Answer = Vec<u32>;
    const NAME: &'static str = "open fan-out";
    const PATIENCE: Duration = SLOW;
}

impl Answers<Node> for OpenFanout {
    fn answer(self, node: &mut Node, _: &Stop) -> Result<Vec<u32>, Declined> {
        // The one before goes first: both together might be more than the host can hold.
        node.fanout = None;
        let fanout = Fanout::build(self.receivers, node.session()?.run_key)?;
        Ok(node.fanout.insert(fanout).processors().to_vec())
    }
}

/// Measures a window.
#[derive(Debug, Serialize, Deserialize)]
pub struct MeasureFanout(pub FanoutStep);

impl Ask for MeasureFanout {
    type Answer = FanoutWindow;
    const NAME: &'static str = "measure fan-out";
    const SIZE: Size = Size::Recorded;

    fn patience(&self) -> Duration {
        span(self.0.duration) + SLOW
    }
}

impl Answers<Node> for MeasureFanout {
    fn answer(self, node: &mut Node, _: &Stop) -> Result<FanoutWindow, Declined> {
        let fanout = node.fanout.as_mut().ok_or("no fan-out is open")?;
        measure_fanout(fanout, &self.0)
    }
}

/// Takes the receivers down.
#[derive(Debug, Serialize, Deserialize)]
pub struct CloseFanout;

impl Ask for CloseFanout {
    type Answer = ();
    const NAME: &'static str = "close fan-out";
    const PATIENCE: Duration = SLOW;
}

impl Answers<Node> for CloseFanout {
    fn answer(self, node: &mut Node, _: &Stop) -> Result<(), Declined> {
        node.fanout = None;
        Ok(())
    }
}
