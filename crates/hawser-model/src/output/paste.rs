//! What `hawser explain` prints of what somebody pasted: counters of one host.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A paste.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PasteReport {
    /// The outputs that were recognised in it.
    pub pastes: Vec<Pasted>,
}

/// One program's output, and what it says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pasted {
    /// What it is: `netstat -su`.
    pub kind: String,
    /// The counters that matter, as they were printed.
    pub numbers: Vec<PastedNumber>,
    /// Whether any of them counts packets that were lost, or a link that was.
    pub loss: bool,
    /// What follows from them.
    pub follows: Vec<String>,
    /// What does not follow, and why not.
    pub open: Vec<String>,
    /// What to run next.
    pub next: Vec<String>,
}

/// A counter of a paste.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PastedNumber {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: u64,
}
