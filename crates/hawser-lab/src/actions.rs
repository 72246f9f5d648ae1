//! What can be done to a lab that is up, one command at a time.

use std::collections::BTreeSet;
use std::fmt;

use crate::error::LabError;
use crate::lab::{load, need_root};
use crate::lock::Lock;
use crate::machines;
use crate::name::LabName;
use crate::paths::{LabDir, Root};
use crate::power::{self, PowerLoss};
use crate::process::ProcessId;
use crate::spec::LabSpec;
use crate::state::{NodeState, Port, State};
use crate::wiring;

/// A cable or a switch of a lab.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CutPoint {
    /// The cable between a node and the switch of one of its links.
    Port {
        /// The node.
        node: String,
        /// The link.
        link: String,
    },
    /// A whole switch.
    Switch(String),
}

impl CutPoint {
    /// `NODE/LINK`, or a switch's name.
    pub fn parse(text: &str) -> Self {
        match text.split_once('/') {
            Some((node, link)) => Self::Port {
                node: node.to_owned(),
                link: link.to_owned(),
            },
            None => Self::Switch(text.to_owned()),
        }
    }
}

impl fmt::Display for CutPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Port { node, link } => write!(f, "{node}/{link}"),
            Self::Switch(name) => f.write_str(name),
        }
    }
}

/// Pulls a cable, or cuts a switch's power: its ports lose their carrier. `false` when it was
/// cut already.
///
/// # Errors
/// No such lab, port or switch; a lab that is not whole.
pub fn cut(name: &LabName, place: &CutPoint) -> Result<bool, LabError> {
    set_cut(name, place, true)
}

/// Undoes [`cut`]. A cable that was cut by itself stays cut when its switch is healed.
///
/// # Errors
/// As [`cut`].
pub fn heal(name: &LabName, place: &CutPoint) -> Result<bool, LabError> {
    set_cut(name, place, false)
}

fn set_cut(name: &LabName, place: &CutPoint, wanted: bool) -> Result<bool, LabError> {
    let mut change = Change::begin(name)?;
    let state = &mut change.state;
    let (ports, bridge, changed) = match place {
        CutPoint::Port { node, link } => {
            let port = find_port(state, node, link)?;
            let changed = if wanted {
                state.cut_ports.insert(port.clone())
            } else {
                state.cut_ports.remove(&port)
            };
            (BTreeSet::from([port]), None, changed)
        }
        CutPoint::Switch(switch) => {
            find_switch(state, switch)?;
            let changed = if wanted {
                state.cut_switches.insert(switch.clone())
            } else {
                state.cut_switches.remove(switch)
            };
            let of_switch = |port: &Port| {
                let link = state.spec.link(port.link.as_str());
                link.is_some_and(|link| link.switch == *switch)
            };
            let ports = wiring::all_ports(state).filter(of_switch).collect();
            (ports, Some(switch.as_str()), changed)
        }
    };
    change.save()?;
    wiring::apply_cuts(&change.state, change.switches, &ports, bridge)?;
    Ok(changed)
}

/// Starts a node, and waits until a machine has booted. `false` when it ran already. `interrupted` is asked meanwhile:
/// whether the user wants to stop waiting.
///
/// # Errors
/// No such lab or node; a lab that is not whole; what starting it says.
pub fn power_on(
    name: &LabName,
    node: &str,
    interrupted: &dyn Fn() -> bool,
) -> Result<bool, LabError> {
    let Some((dir, spec, init)) = begin_to_start(name, node)? else {
        return Ok(false);
    };
    // The lab is not held meanwhile: a machine that boots loses its power as any other.
    machines::wait_until_up(&dir, &spec, &[(node, init)], &|| match interrupted() {
        true => Err(LabError::Boots(format!("{node} is"))),
        false => Ok(()),
    })?;
    Ok(true)
}

/// Gives a node power. `false` when it had it already. A machine boots when this returns.
///
/// # Errors
/// As [`power_on`].
pub(crate) fn switch_on(name: &LabName, node: &str) -> Result<bool, LabError> {
    Ok(begin_to_start(name, node)?.is_some())
}

fn begin_to_start(
    name: &LabName,
    node: &str,
) -> Result<Option<(LabDir, LabSpec, ProcessId)>, LabError> {
    let mut change = Change::begin(name)?;
    let there = change.state.nodes.get(node);
    if there.is_some_and(|n| n.powered && n.running().is_some()) {
        return Ok(None);
    }
    let init = power::start(&change.dir, &mut change.state, node)?;
    let spec = change.state.spec.clone();
    Ok(Some((change.dir.clone(), spec, init)))
}

/// Takes a node's power away. `false` when it was off already.
///
/// # Errors
/// No such lab or node; a lab that is not whole; what stopping it says.
pub fn power_loss(name: &LabName, node: &str, how: PowerLoss) -> Result<bool, LabError> {
    let mut change = Change::begin(name)?;
    let was_on = change
        .state
        .nodes
        .get(node)
        .and_then(NodeState::running)
        .is_some();
    power::stop(&change.dir, &mut change.state, node, how)?;
    Ok(was_on)
}

/// A lab held for one change.
pub(crate) struct Change {
    pub dir: LabDir,
    pub state: State,
    pub switches: ProcessId,
    _lock: Lock,
}

impl Change {
    /// Writes the state down.
    pub fn save(&self) -> Result<(), LabError> {
        self.state.save(&self.dir)
    }

    /// Takes the lab's lock and reads its state.
    pub fn begin(name: &LabName) -> Result<Self, LabError> {
        need_root()?;
        let root = Root::from_environment();
        // A lab that does not exist is said so without a lock file being made for it.
        load(&root, name)?;
        let lock = Lock::take(root.lock(name), &format!("lab {name}"))?;
        let (dir, state) = match load(&root, name) {
            Ok(loaded) => loaded,
            Err(e) => {
                // It went down while we waited; so must the lock that we have just made.
                lock.remove();
                root.remove_if_empty();
                return Err(e);
            }
        };
        match state.switches_running() {
            Some(switches) if state.is_of_this_boot() => Ok(Self {
                dir,
                state,
                switches,
                _lock: lock,
            }),
            _ => Err(LabError::NotWhole {
                name: name.to_string(),
                what: state.missing().join(", "),
            }),
        }
    }
}

/// The port of that node and link.
pub(crate) fn find_port(state: &State, node: &str, link: &str) -> Result<Port, LabError> {
    let wanted = format!("{node}/{link}");
    wiring::all_ports(state)
        .find(|port| port.to_string() == wanted)
        .ok_or_else(|| LabError::NoSuch {
            lab: state.name.to_string(),
            kind: "port",
            found: wanted,
            known: wiring::all_ports(state).map(|p| p.to_string()).collect(),
        })
}

/// Checks that there is a switch of that name.
pub(crate) fn find_switch(state: &State, name: &str) -> Result<(), LabError> {
    if state.spec.switch(name).is_some() {
        return Ok(());
    }
    let switches = state.spec.switches.iter();
    Err(LabError::NoSuch {
        lab: state.name.to_string(),
        kind: "switch",
        found: name.to_owned(),
        known: switches.map(|s| s.name.clone()).collect(),
    })
}
