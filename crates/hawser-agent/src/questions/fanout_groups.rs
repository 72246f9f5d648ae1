//! Groups behind the bridge of a fan-out.

use std::time::Duration;

use hawser_host::{Answers, Ask, Declined, SLOW, Size, Stop};
use hawser_model::fanout::GroupsMeasured;
use hawser_rungs::fanout::GroupsStep;
use serde::{Deserialize, Serialize};

use crate::node::Node;

/// Joins many groups behind the bridge of two receivers.
#[derive(Debug, Serialize, Deserialize)]
pub struct MeasureGroups(pub GroupsStep);

impl Ask for MeasureGroups {
    type Answer = GroupsMeasured;
    const NAME: &'static str = "measure groups";
    const SIZE: Size = Size::Recorded;

    fn patience(&self) -> Duration {
        // A packet that does not arrive is waited for.
        SLOW + Duration::from_millis(20) * self.0.groups
    }
}

impl Answers<Node> for MeasureGroups {
    fn answer(self, node: &mut Node, _: &Stop) -> Result<GroupsMeasured, Declined> {
        let fanout = node.fanout.as_mut().ok_or("no fan-out is open")?;
        Ok(fanout.groups(&self.0)?)
    }
}
