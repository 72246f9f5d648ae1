//! Faults planted in a lab: on the ports of its switches, so that both hosts stay clean; in a
//! node's packet filter; in a switch's multicast settings; in settings of the whole machine.

mod apply;
mod fault;
mod filter;
pub(crate) mod machine;
mod merged;
mod port;
mod program;
pub mod reorder_line;
mod share;

pub(crate) use apply::{port_report, reapply, switch as apply_switch};
pub use fault::{BurstLoss, Direction, Fault, Gilbert, Only};
pub(crate) use filter::dropped as filter_dropped;
pub use machine::{Changed, MachineSetting, Numbers, Restored};
pub use program::Counts;
pub use share::Share;

use std::collections::BTreeMap;

use hawser_model::names::HostName;
use serde::{Deserialize, Serialize};

use crate::actions::{Change, find_port, find_switch};
use crate::error::LabError;
use crate::lab::no_such_node;
use crate::machines::Kind;
use crate::name::LabName;
use crate::paths::Root;
use crate::process::ProcessId;
use crate::state::{Port, State};

/// Notes that something in the lab `name` is about to set a machine-wide setting to `value`
/// itself, so that the setting is put back when the lab goes.
///
/// # Errors
/// No such lab, or another lab holds the machine-wide settings.
pub fn announce_machine(
    name: &LabName,
    setting: MachineSetting,
    value: Numbers,
) -> Result<(), LabError> {
    let change = Change::begin(name)?;
    machine::announce(&Root::from_environment(), &change.state, setting, value)
}

/// All impairments of a lab that outlive a node's power cycle.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Impairments {
    /// By port, in the order of [`Direction::BOTH`].
    pub ports: BTreeMap<Port, [Fault; 2]>,
    /// Share of incoming UDP packets that a node's filter drops.
    pub nodes: BTreeMap<HostName, Share>,
    /// Multicast settings in the place of the lab file's.
    pub switches: BTreeMap<String, Multicast>,
}

/// A switch's multicast settings; what is absent is as the lab file says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Multicast {
    /// IGMP and MLD snooping.
    pub snooping: Option<bool>,
    /// Sending queries.
    pub querier: Option<bool>,
}

/// A fault to plant.
#[derive(Clone, Debug, PartialEq)]
pub enum Order {
    /// On a port, in one or both directions. What an earlier order planted there and this one
    /// does not name stays.
    Port {
        /// The node.
        node: String,
        /// The link.
        link: String,
        /// Which directions.
        directions: Vec<Direction>,
        /// The fault.
        fault: Fault,
    },
    /// In a node's packet filter: this share of incoming UDP packets is dropped.
    Filter {
        /// The node.
        node: String,
        /// The share.
        share: Share,
    },
    /// In a switch.
    Switch {
        /// The switch.
        switch: String,
        /// The settings.
        multicast: Multicast,
    },
    /// In settings of the whole machine: the host and all labs.
    Machine(BTreeMap<MachineSetting, Numbers>),
}

/// What to clear of faults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Clear {
    /// A port, both directions.
    Port {
        /// The node.
        node: String,
        /// The link.
        link: String,
    },
    /// A node's packet filter.
    Node(String),
    /// A switch's multicast settings.
    Switch(String),
    /// Settings of the whole machine.
    Machine,
    /// All of these. Cut cables and power stay as they are.
    All,
}

/// Plants a fault.
///
/// # Errors
/// No such lab or place, or what the kernel says; then everything is as before.
pub fn impair(name: &LabName, order: &Order) -> Result<(), LabError> {
    let mut change = Change::begin(name)?;
    match order {
        Order::Port {
            node,
            link,
            directions,
            fault,
        } => {
            let port = find_port(&change.state, node, link)?;
            let before = change.state.impairments.ports.get(&port).copied();
            let mut faults = before.unwrap_or_default();
            for (slot, direction) in faults.iter_mut().zip(Direction::BOTH) {
                if directions.contains(&direction) {
                    *slot = slot.with(fault.towards(direction));
                }
            }
            put(&mut change.state, &port, faults);
            change.save()?;
            let planted = apply::port(&change.state, &change.dir, change.switches, &port);
            planted.or_else(|e| {
                take_back(&mut change, &port, before.unwrap_or_default())?;
                Err(e)
            })
        }
        Order::Filter { node, share } => {
            let init = running(&change.state, node)?;
            if let Some(why) = no_filter(&change.state, node) {
                return Err(LabError::Impairment(format!("{node} is a machine: {why}")));
            }
            let nodes = &mut change.state.impairments.nodes;
            nodes.insert(node.as_str().into(), *share);
            change.save()?;
            filter::apply(init, *share).or_else(|e| {
                clear_node(&mut change, node)?;
                Err(e)
            })
        }
        Order::Switch { switch, multicast } => {
            find_switch(&change.state, switch)?;
            let switches = &mut change.state.impairments.switches;
            let entry = switches.entry(switch.clone()).or_default();
            entry.snooping = multicast.snooping.or(entry.snooping);
            entry.querier = multicast.querier.or(entry.querier);
            change.save()?;
            apply::switch(&change.state, change.switches, switch)
        }
        Order::Machine(wanted) => machine::change(&Root::from_environment(), &change.state, wanted),
    }
}

/// Clears faults; returns what became of machine-wide settings.
///
/// # Errors
/// No such lab or place, or what the kernel says.
pub fn clear(name: &LabName, what: &Clear) -> Result<Vec<Restored>, LabError> {
    let mut change = Change::begin(name)?;
    match what {
        Clear::Port { node, link } => {
            let port = find_port(&change.state, node, link)?;
            take_back(&mut change, &port, Default::default())?;
        }
        Clear::Node(node) => clear_node(&mut change, node)?,
        Clear::Switch(switch) => {
            find_switch(&change.state, switch)?;
            clear_switch(&mut change, switch)?;
        }
        Clear::Machine => return machine::restore(&Root::from_environment(), name),
        Clear::All => {
            let all = change.state.impairments.clone();
            for port in all.ports.keys() {
                take_back(&mut change, port, Default::default())?;
            }
            for node in all.nodes.keys() {
                clear_node(&mut change, node.as_str())?;
            }
            for switch in all.switches.keys() {
                clear_switch(&mut change, switch)?;
            }
            return machine::restore(&Root::from_environment(), name);
        }
    }
    Ok(Vec::new())
}

/// Puts a port's faults into the state.
fn put(state: &mut State, port: &Port, faults: [Fault; 2]) {
    if faults.iter().all(Fault::is_none) {
        state.impairments.ports.remove(port);
    } else {
        state.impairments.ports.insert(port.clone(), faults);
    }
}

/// Makes a port's faults these and strikes out what is gone.
///
/// A fault is written down before it is planted and struck out after it was taken away, so that
/// a command which is killed in between leaves none that `status` and `clear` do not know.
fn take_back(change: &mut Change, port: &Port, faults: [Fault; 2]) -> Result<(), LabError> {
    put(&mut change.state, port, faults);
    apply::port(&change.state, &change.dir, change.switches, port)?;
    change.save()
}

fn clear_node(change: &mut Change, node: &str) -> Result<(), LabError> {
    if change.state.spec.node(node).is_none() {
        return Err(no_such_node(&change.state, node));
    }
    // A node that is off has no filter.
    if let (Ok(init), Kind::Namespace) = (running(&change.state, node), change.state.spec.kind) {
        filter::remove(init)?;
    }
    change.state.impairments.nodes.remove(node);
    change.save()
}

/// Why a node's packets are not filtered from outside: a machine's do not pass its case's own network.
fn no_filter(state: &State, node: &str) -> Option<String> {
    match state.spec.kind_of(state.spec.node(node)?) {
        Kind::Namespace => None,
        Kind::Uml => Some(
            "Debian's kernel for user-mode Linux has no nftables of IP (CONFIG_NF_TABLES_INET)"
                .to_owned(),
        ),
        Kind::Qemu => Some(format!(
            "its packet filter is its own: `hawser lab exec --lab {} {node} -- nft …`",
            state.name
        )),
    }
}

fn clear_switch(change: &mut Change, switch: &str) -> Result<(), LabError> {
    change.state.impairments.switches.remove(switch);
    apply::switch(&change.state, change.switches, switch)?;
    change.save()
}

fn running(state: &State, node: &str) -> Result<ProcessId, LabError> {
    let entry = state
        .nodes
        .get(node)
        .ok_or_else(|| no_such_node(state, node))?;
    entry.running().ok_or_else(|| LabError::NodeOff {
        lab: state.name.to_string(),
        node: node.to_owned(),
    })
}
