//! What labs there are and how they stand, for people and scripts.

use std::collections::BTreeMap;
use std::net::IpAddr;

use hawser_model::names::{HostName, LinkName};
use hawser_model::units::Mtu;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::LabError;
use crate::impair::{
    Changed, Counts, Direction, Fault, MachineSetting, Share, filter_dropped, machine, port_report,
};
use crate::lab::{load, need_root};
use crate::machines::Kind;
use crate::name::LabName;
use crate::paths::{LabDir, Root};
use crate::process::ProcessId;
use crate::spec::{NodeSpec, Role};
use crate::state::{Port, State};
use crate::wiring::is_cut;

/// How a lab stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Health {
    /// Whole.
    Up,
    /// Half built, or a part of it has died.
    Broken,
}

/// A lab, in a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LabSummary {
    /// Its name.
    pub name: LabName,
    /// How it stands.
    pub state: Health,
    /// What is wrong with it; empty when nothing is.
    pub problems: Vec<String>,
    /// When it was brought up, seconds since 1970 UTC; absent when that cannot be read.
    pub since: Option<u64>,
    /// The members of the cluster.
    pub nodes: Vec<HostName>,
    /// The machines beside it.
    pub clients: Vec<HostName>,
    /// The links.
    pub links: Vec<LinkName>,
}

/// A lab in full.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LabStatus {
    /// The line of the list.
    #[serde(flatten)]
    pub summary: LabSummary,
    /// The switches.
    pub switches: Vec<SwitchStatus>,
    /// Nodes, clients, shelves and an arbiter.
    pub machines: Vec<MachineStatus>,
    /// Faults on ports, with what they have done.
    pub impairments: Vec<PortImpairment>,
    /// Settings of the whole machine that this lab has changed.
    pub machine_wide: BTreeMap<MachineSetting, Changed>,
}

/// A switch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SwitchStatus {
    /// Its name.
    pub name: String,
    /// Whether it was cut.
    pub cut: bool,
    /// The links over it.
    pub links: Vec<LinkName>,
    /// IGMP and MLD snooping.
    pub snooping: bool,
    /// Whether it sends queries.
    pub querier: bool,
}

/// Whether a machine has power.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Power {
    /// It runs.
    On,
    /// It was switched off, or its power was cut.
    Off,
    /// It should run, and its first process is gone.
    Dead,
}

/// A node, a client, a shelf or an arbiter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MachineStatus {
    /// Its name.
    pub name: HostName,
    /// What it is for.
    pub role: Role,
    /// What it is.
    pub kind: Kind,
    /// Whether it has power.
    pub power: Power,
    /// Its first process, as the host sees it.
    pub pid: Option<i32>,
    /// The file with what that process said.
    pub console: String,
    /// Its interfaces.
    pub ports: Vec<PortStatus>,
    /// The planted packet filter, when there is one.
    pub filter: Option<FilterImpairment>,
}

/// An interface of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PortStatus {
    /// The link, and the interface's name.
    pub link: LinkName,
    /// Its addresses.
    pub addresses: Vec<IpAddr>,
    /// The link's MTU.
    pub mtu: Mtu,
    /// Whether its cable, or its switch, was cut.
    pub cut: bool,
}

/// A planted packet filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FilterImpairment {
    /// The share of incoming UDP packets that it drops, in packets in a million.
    pub share: Share,
    /// How many it has dropped since the node was started; absent when it could not be read.
    pub dropped: Option<u64>,
}

/// Faults of one direction of a port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PortImpairment {
    /// The node.
    pub node: HostName,
    /// The link.
    pub link: LinkName,
    /// The direction.
    pub direction: Direction,
    /// The faults.
    pub faults: Fault,
    /// What they have done since they were planted; absent for a rate alone.
    pub counts: Option<Counts>,
    /// Packets that found the queue in front of the rate full.
    pub queue_dropped: Option<u64>,
}

/// All labs, by name.
///
/// # Errors
/// Not root, or the folder of labs cannot be read.
pub fn list() -> Result<Vec<LabSummary>, LabError> {
    need_root()?;
    let root = Root::from_environment();
    let names = root.labs()?.into_iter();
    Ok(names.map(|name| summary_of(&root, name)).collect())
}

/// One lab in full.
///
/// # Errors
/// Not root, no such lab, or its counts cannot be read.
pub fn status(name: &LabName) -> Result<LabStatus, LabError> {
    need_root()?;
    let root = Root::from_environment();
    let (dir, state) = load(&root, name)?;
    let machine = |node: &NodeSpec| machine_status(&dir, &state, node);
    let switches = alive(&state, state.switches_running());
    Ok(LabStatus {
        summary: summary(&state),
        switches: switch_status(&state),
        machines: state.spec.nodes.iter().map(machine).collect(),
        impairments: match switches {
            Some(switches) => port_impairments(&state, switches)?,
            None => Vec::new(),
        },
        machine_wide: machine::changed(&root, &state),
    })
}

fn summary_of(root: &Root, name: LabName) -> LabSummary {
    match load(root, &name) {
        Ok((_, state)) => summary(&state),
        Err(e) => LabSummary {
            problems: vec![match e {
                LabError::NoSuchLab { .. } => "it was left half built".to_owned(),
                other => other.to_string(),
            }],
            name,
            state: Health::Broken,
            since: None,
            nodes: Vec::new(),
            clients: Vec::new(),
            links: Vec::new(),
        },
    }
}

fn summary(state: &State) -> LabSummary {
    let problems = if state.is_of_this_boot() {
        state.missing()
    } else {
        vec!["the machine was booted since".to_owned()]
    };
    let of = |members: bool| {
        let nodes = state.spec.nodes.iter();
        let nodes = nodes.filter(move |n| (n.role == Role::Member) == members);
        nodes.map(|n| n.name.clone()).collect()
    };
    LabSummary {
        name: state.name.clone(),
        state: if problems.is_empty() {
            Health::Up
        } else {
            Health::Broken
        },
        problems,
        since: Some(state.since),
        nodes: of(true),
        clients: of(false),
        links: state.spec.links.iter().map(|l| l.name.clone()).collect(),
    }
}

fn switch_status(state: &State) -> Vec<SwitchStatus> {
    let spec = &state.spec;
    let status = |switch: &crate::spec::SwitchSpec| {
        let over = state
            .impairments
            .switches
            .get(&switch.name)
            .copied()
            .unwrap_or_default();
        let links = spec.links.iter().filter(|l| l.switch == switch.name);
        SwitchStatus {
            name: switch.name.clone(),
            cut: state.cut_switches.contains(&switch.name),
            links: links.map(|l| l.name.clone()).collect(),
            snooping: over.snooping.unwrap_or(switch.snooping),
            querier: over.querier.unwrap_or(switch.querier),
        }
    };
    spec.switches.iter().map(status).collect()
}

fn machine_status(dir: &LabDir, state: &State, node: &NodeSpec) -> MachineStatus {
    let entry = state.nodes.get(&node.name);
    let init = alive(state, entry.and_then(|n| n.running()));
    let power = match init {
        Some(_) => Power::On,
        None if entry.is_some_and(|n| n.powered) => Power::Dead,
        None => Power::Off,
    };
    let port = |port: &crate::spec::PortSpec| PortStatus {
        link: port.link.clone(),
        addresses: [port.ipv4.map(IpAddr::V4), port.ipv6.map(IpAddr::V6)]
            .into_iter()
            .flatten()
            .collect(),
        mtu: state
            .spec
            .link(port.link.as_str())
            .map_or(crate::spec::DEFAULT_MTU, |l| l.mtu),
        cut: is_cut(state, &node.name, &port.link),
    };
    let filter = |share: &Share| FilterImpairment {
        share: *share,
        dropped: init.and_then(filter_dropped),
    };
    MachineStatus {
        name: node.name.clone(),
        role: node.role,
        kind: state.spec.kind_of(node),
        power,
        pid: init.map(|init| init.pid),
        console: dir.console(node.name.as_str()).display().to_string(),
        ports: node.ports.iter().map(port).collect(),
        filter: state.impairments.nodes.get(&node.name).map(filter),
    }
}

fn port_impairments(state: &State, switches: ProcessId) -> Result<Vec<PortImpairment>, LabError> {
    let mut all = Vec::new();
    for (port, faults) in &state.impairments.ports {
        for (direction, fault) in Direction::BOTH.into_iter().zip(faults) {
            if fault.is_none() {
                continue;
            }
            let (counts, queue_dropped) = port_report(state, switches, port, direction)?;
            let Port { node, link } = port.clone();
            all.push(PortImpairment {
                node,
                link,
                direction,
                faults: *fault,
                counts,
                queue_dropped,
            });
        }
    }
    Ok(all)
}

/// A process id means nothing after another boot.
fn alive(state: &State, process: Option<ProcessId>) -> Option<ProcessId> {
    process.filter(|_| state.is_of_this_boot())
}
