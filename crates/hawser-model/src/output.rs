//! What the verbs print with `--json`: the contract that scripts rely on.

pub mod exports;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::account::PacketsAccount;
use crate::finding::WordedFinding;

/// What `hawser check --json` and `hawser explain --json` print.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckReport {
    /// The packets account.
    pub packets: PacketsAccount,
    /// The findings, worst first.
    pub findings: Vec<WordedFinding>,
    /// Path of the case file.
    pub case: String,
}
