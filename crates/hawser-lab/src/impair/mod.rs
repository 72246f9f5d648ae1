//! Faults planted in a lab's network.

use serde::{Deserialize, Serialize};

/// All impairments of a lab, as they stand.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Impairments {}
