//! An entry of the journal: a change, whose it is, and whether the kernel was told.

use hawser_model::knob::Change;
use serde::{Deserialize, Serialize};

use super::owner::Owner;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    #[serde(flatten)]
    pub(super) change: Change,
    pub(super) owner: Owner,
    /// The knob was read back after it was turned; until then `after` is only what was asked.
    pub(super) settled: bool,
}
