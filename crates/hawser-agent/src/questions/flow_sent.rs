//! How a flow is sent.

use hawser_model::traffic::SenderReport;
use serde::{Deserialize, Serialize};

/// Whether a sender minds the cluster on its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Care {
    /// Stop when Corosync reports trouble: a live cluster.
    Gentle,
    /// Go on: a maintenance window.
    None,
}

/// How a flow was sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sent {
    /// The sender's report; of what was sent until then when it stopped early.
    pub report: SenderReport,
    /// Why it stopped early; absent when it ran to its end.
    pub stopped: Option<StopReason>,
}

/// Why a flow ended early.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopReason {
    /// The coordinator asked for it.
    Asked,
    /// Corosync on this host reported trouble: the statistic that moved.
    Cluster(String),
}
