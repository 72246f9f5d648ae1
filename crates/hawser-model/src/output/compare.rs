//! What `hawser compare` prints with `--json`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::case::Absent;
use crate::names::{HostName, LinkName};

/// What `hawser compare --json` prints, and `hawser explain --json` of its case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CompareReport {
    /// Hosts that did not answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<Absent>,
    /// The hosts that were compared.
    pub hosts: Vec<HostName>,
    /// How many items were compared, those that differ among them.
    pub compared: u64,
    /// What differs: first what a finding is about, then from the card upwards.
    pub differences: Vec<Difference>,
    /// What one host told and another did not: nothing is known of a difference.
    pub not_known: Vec<Difference>,
    /// Path of the case file.
    pub case: String,
}

/// An item and its value on each host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// What it is: `receive ring`, `net.core.rmem_max`, `offload rx-gro`.
    pub item: String,
    /// The link whose interfaces differ; absent for what the whole host has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkName>,
    /// The value on each host; null where it is not known.
    pub values: BTreeMap<HostName, Option<String>>,
    /// The codes of the findings that are about it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<String>,
}
