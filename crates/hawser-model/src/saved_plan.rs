//! A plan in a file: what somebody reviewed, so that it is what is done, or nothing.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::output::cluster::Change;

/// What the field `format` of a saved plan says.
pub const PLAN_FORMAT: &str = "hawser-plan/1";

/// What `hawser plan -o FILE` writes and `hawser apply FILE` reads. It holds no secret: a secret is named as the cluster file
/// names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SavedPlan {
    /// `hawser-plan/1`.
    pub format: String,
    /// The version of Hawser that made the plan. Another one may do something else, so it refuses it.
    pub hawser: String,
    /// When it was made, in seconds since 1970 UTC.
    pub made: u64,
    /// The cluster.
    pub cluster: String,
    /// The lab whose nodes they are; absent when they are those of the cluster file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lab: Option<String>,
    /// Where the cluster file was.
    pub path: String,
    /// All of the cluster file: it is what is applied, whatever is at its place by then.
    pub file: String,
    /// What changes, in the order it is done, each with what was found there.
    pub changes: Vec<Change>,
    /// What Pacemaker does about it, in words.
    pub pacemaker: Vec<String>,
    /// Why it could not be applied when it was made.
    pub problems: Vec<String>,
    /// What is done, in order.
    pub steps: Vec<SavedStep>,
    /// The SHA-256 of each of the other fields, as compact JSON with sorted keys: a plan that somebody edited is none that was
    /// made.
    pub digests: BTreeMap<String, String>,
}

/// A step of a saved plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SavedStep {
    /// What is done, in words.
    pub does: String,
    /// The SHA-256 of what is written, in which a secret is named only; absent when the words say it all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}
