//! What `hawser check --client --json` prints.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::case::Absent;
use crate::client::{LongestOutage, Wait};
use crate::finding::WordedFinding;
use crate::names::HostName;

/// What `hawser check --client --json` prints, and `hawser explain --json` of its case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClientsReport {
    /// Clients that did not answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<Absent>,
    /// How long they have to wait.
    pub outage: LongestOutage,
    /// Each client.
    pub clients: Vec<ClientReport>,
    /// What could not be found out, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<String>,
    /// The findings, worst first.
    pub findings: Vec<WordedFinding>,
    /// Path of the case file.
    pub case: String,
}

/// A client and what it has of the cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClientReport {
    /// The client.
    pub client: HostName,
    /// After how long the cluster file says that it gives up; absent: it was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gives_up_s: Option<f64>,
    /// What it has of the cluster's pools.
    pub devices: Vec<ClientDevice>,
}

/// A disk or a mount of a client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClientDevice {
    /// `mpatha`, `sda`, or the directory of a mount.
    pub device: String,
    /// The pool that it is of.
    pub pool: String,
    /// The links of the cluster file over which it is reached, or the addresses that are on none; each once.
    pub over: Vec<String>,
    /// How many paths it has.
    pub paths: u64,
    /// How many of them are up.
    pub paths_up: u64,
    /// How long a program that uses it waits for a head that is gone, from the moment when the kernel has noticed, before it
    /// gets an error. Absent: not known.
    pub wait: Option<Wait>,
}
