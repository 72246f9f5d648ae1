//! The journal of what was turned.

use hawser_host::{Answers, Ask, Declined, Size, Stop};
use hawser_model::knob::{Change, RecordedChanges, Undone};
use serde::{Deserialize, Serialize};

use crate::node::Node;

/// Keeps the change of a trial, and persists it where the host can.
#[derive(Debug, Serialize, Deserialize)]
pub struct KeepChange {
    /// The change's number.
    pub change: u64,
    /// Ids of the changes that are one with it.
    pub together: Vec<String>,
}

impl Ask for KeepChange {
    type Answer = Change;
    const NAME: &'static str = "keep change";
}

impl Answers<Node> for KeepChange {
    fn answer(self, node: &mut Node, _: &Stop) -> Result<Change, Declined> {
        Ok(node.changes.journal()?.keep(self.change, self.together)?)
    }
}

/// All changes in the host's journal.
#[derive(Debug, Serialize, Deserialize)]
pub struct ReadChanges;

impl Ask for ReadChanges {
    type Answer = RecordedChanges;
    const NAME: &'static str = "changes";
    const SIZE: Size = Size::Large;
}

impl Answers<Node> for ReadChanges {
    fn answer(self, node: &mut Node, _: &Stop) -> Result<RecordedChanges, Declined> {
        Ok(node.changes.journal()?.changes()?)
    }
}

/// Undoes a change.
#[derive(Debug, Serialize, Deserialize)]
pub struct UndoChange(pub u64);

impl Ask for UndoChange {
    type Answer = Undone;
    const NAME: &'static str = "undo change";
    const SIZE: Size = Size::Large;
}

impl Answers<Node> for UndoChange {
    fn answer(self, node: &mut Node, _: &Stop) -> Result<Undone, Declined> {
        Ok(node.changes.journal()?.undo(self.0)?)
    }
}
