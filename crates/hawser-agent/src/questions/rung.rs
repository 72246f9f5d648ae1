//! What one host can do by itself.

use std::time::Duration;

use hawser_host::{Answers, Ask, Declined, SLOW, Size, Stop};
use hawser_model::ladder::Rung;
use hawser_rungs::RungSpec;
use serde::{Deserialize, Serialize};

use super::span;
use crate::node::Node;

/// Measures a rung of this host alone. One that cannot run says so in the answer.
#[derive(Debug, Serialize, Deserialize)]
pub struct MeasureRung(pub RungSpec);

impl Ask for MeasureRung {
    type Answer = Rung;
    const NAME: &'static str = "measure rung";
    const SIZE: Size = Size::Recorded;

    fn patience(&self) -> Duration {
        span(self.0.duration()) + SLOW
    }
}

impl Answers<Node> for MeasureRung {
    fn answer(self, _: &mut Node, _: &Stop) -> Result<Rung, Declined> {
        Ok(hawser_rungs::measure(&self.0))
    }
}
