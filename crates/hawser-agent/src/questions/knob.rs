//! Knobs.

use hawser_host::{Answers, Ask, Declined, Stop};
use hawser_kernel::Arm;
use hawser_model::knob::{Change, Knob, Setting};
use serde::{Deserialize, Serialize};

use crate::node::Node;

/// Reads a knob.
#[derive(Debug, Serialize, Deserialize)]
pub struct ReadKnob(pub Knob);

impl Ask for ReadKnob {
    type Answer = Setting;
    const NAME: &'static str = "read knob";
}

impl Answers<Node> for ReadKnob {
    fn answer(self, node: &mut Node, _: &Stop) -> Result<Setting, Declined> {
        Ok(node.changes.journal()?.knobs().read(&self.0)?)
    }
}

/// Turns a knob as a trial: undone when the agent ends, however it ends.
#[derive(Debug, Serialize, Deserialize)]
pub struct TryKnob {
    /// Which.
    pub knob: Knob,
    /// The value to try.
    pub value: String,
}

impl Ask for TryKnob {
    type Answer = Change;
    const NAME: &'static str = "try knob";
}

impl Answers<Node> for TryKnob {
    fn answer(self, node: &mut Node, _: &Stop) -> Result<Change, Declined> {
        node.changes.begin(&self.knob, &self.value)
    }
}

/// Turns the knob of a trial to the value before, or to the value after.
#[derive(Debug, Serialize, Deserialize)]
pub struct TurnKnob {
    /// The change's number.
    pub change: u64,
    /// To the value after.
    pub after: bool,
}

impl Ask for TurnKnob {
    type Answer = ();
    const NAME: &'static str = "turn knob";
}

impl Answers<Node> for TurnKnob {
    fn answer(self, node: &mut Node, _: &Stop) -> Result<(), Declined> {
        let arm = if self.after { Arm::After } else { Arm::Before };
        Ok(node.changes.journal()?.turn(self.change, arm)?)
    }
}
