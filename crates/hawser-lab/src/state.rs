//! What is written down about a lab, so that any later command can use it or take it apart.
//!
//! The token is written before the first process starts and every first process of a node
//! carries it, so whatever a killed command left behind is found again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use hawser_model::names::{HostName, LinkName};
use serde::{Deserialize, Serialize};

use crate::error::LabError;
use crate::impair::Impairments;
use crate::machines::Kind;
use crate::machines::image::Boots;
use crate::name::LabName;
use crate::paths::LabDir;
use crate::process::ProcessId;
use crate::spec::{LabSpec, Role};

/// The format this version writes and reads.
const FORMAT: &str = "hawser-lab/3";

/// A port of a switch: where a node's end of a link is plugged in.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub(crate) struct Port {
    pub node: HostName,
    pub link: LinkName,
}

impl From<Port> for String {
    fn from(port: Port) -> Self {
        port.to_string()
    }
}

impl TryFrom<String> for Port {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.split_once('/') {
            Some((node, link)) => Ok(Self {
                node: node.into(),
                link: link.into(),
            }),
            None => Err(format!("\"{text}\" is not NODE/LINK")),
        }
    }
}

impl std::fmt::Display for Port {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.node, self.link)
    }
}

/// How far a lab has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Phase {
    /// `up` is at work, or was killed.
    Building,
    /// Complete.
    Up,
}

/// What is known of a node.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct NodeState {
    /// Whether it should run.
    pub powered: bool,
    /// Its first process, when it was started.
    pub init: Option<ProcessId>,
}

impl NodeState {
    /// The first process, when it runs.
    pub fn running(&self) -> Option<ProcessId> {
        self.init.filter(|init| init.is_alive())
    }
}

/// A lab's state file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct State {
    format: String,
    pub name: LabName,
    /// Random; on the command line of every first process.
    pub token: String,
    /// The boot of the machine it was made in: process ids mean nothing after another.
    pub boot: String,
    /// When it was brought up, seconds since 1970 UTC.
    pub since: u64,
    pub phase: Phase,
    pub spec: LabSpec,
    pub switches: Option<ProcessId>,
    pub nodes: BTreeMap<HostName, NodeState>,
    pub cut_ports: BTreeSet<Port>,
    pub cut_switches: BTreeSet<String>,
    pub impairments: Impairments,
    /// What its machines of each kind boot from, which they keep when newer ones are built.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub boots: BTreeMap<Kind, Boots>,
}

impl State {
    /// The state of a lab about to be built.
    pub fn new(name: &LabName, spec: &LabSpec) -> Result<Self, LabError> {
        let nodes = spec
            .nodes
            .iter()
            .map(|node| {
                let off = NodeState {
                    powered: true,
                    init: None,
                };
                (node.name.clone(), off)
            })
            .collect();
        Ok(Self {
            format: FORMAT.to_owned(),
            name: name.clone(),
            token: random_token()?,
            boot: boot_id()?,
            since: SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |d| d.as_secs()),
            phase: Phase::Building,
            spec: spec.clone(),
            switches: None,
            nodes,
            cut_ports: BTreeSet::new(),
            cut_switches: BTreeSet::new(),
            impairments: Impairments::default(),
            boots: BTreeMap::new(),
        })
    }

    /// Reads the state; `None` when there is no such file.
    pub fn load(dir: &LabDir) -> Result<Option<Self>, LabError> {
        let path = dir.state();
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(LabError::io("read", &path, e)),
        };
        let bad = |what: String| LabError::State {
            path: path.clone(),
            what,
        };
        let state: Self = serde_json::from_str(&text).map_err(|e| bad(e.to_string()))?;
        if state.format == FORMAT {
            Ok(Some(state))
        } else {
            Err(bad(format!("format {}, this is {FORMAT}", state.format)))
        }
    }

    /// Writes the state, whole or not at all.
    pub fn save(&self, dir: &LabDir) -> Result<(), LabError> {
        write_whole(&dir.state(), self)
    }

    /// Whether the machine has not been booted since.
    pub fn is_of_this_boot(&self) -> bool {
        boot_id().is_ok_and(|boot| boot == self.boot)
    }

    /// The switches' first process, when it runs.
    pub fn switches_running(&self) -> Option<ProcessId> {
        self.switches.filter(|init| init.is_alive())
    }

    /// What should run and does not; empty for a whole lab.
    pub fn missing(&self) -> Vec<String> {
        let mut missing = Vec::new();
        if self.phase != Phase::Up {
            missing.push("it was left half built".to_owned());
        }
        if self.switches_running().is_none() {
            missing.push("its switches have died".to_owned());
        }
        for (name, node) in &self.nodes {
            if node.powered && node.running().is_none() {
                missing.push(format!("{name} has died"));
            }
        }
        missing
    }

    /// The names of nodes and clients.
    pub fn node_names(&self) -> Vec<String> {
        self.spec.nodes.iter().map(|n| n.name.to_string()).collect()
    }

    /// The members of the cluster.
    pub fn members(&self) -> impl Iterator<Item = &crate::spec::NodeSpec> {
        self.spec.nodes.iter().filter(|n| n.role == Role::Member)
    }
}

/// Writes `value` as JSON: a reader sees the old file or the new one, never half of either.
pub(crate) fn write_whole(path: &Path, value: &impl Serialize) -> Result<(), LabError> {
    let text = serde_json::to_vec_pretty(value)
        .map_err(|e| LabError::io("write", path, io::Error::other(e)))?;
    Ok(hawser_files::replace(path, &text, 0o644)?)
}

/// The kernel's random name of this boot.
pub(crate) fn boot_id() -> Result<String, LabError> {
    let path = "/proc/sys/kernel/random/boot_id";
    fs::read_to_string(path)
        .map(|id| id.trim().to_owned())
        .map_err(|e| LabError::io("read", path, e))
}

pub(crate) fn random_token() -> Result<String, LabError> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(|e| LabError::io("take", "random bytes", e.into()))?;
    Ok(bytes.iter().map(|b| format!("{b:02x}")).collect())
}
