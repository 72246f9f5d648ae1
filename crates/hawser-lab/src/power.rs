//! Power: switching nodes on and off, and cutting it.

use std::time::Duration;

use crate::cluster::shelf;
use crate::error::LabError;
use crate::init::{SOFT_OFF, STOPS_POOLS};
use crate::lab::no_such_node;
use crate::machines::{self, Kind};
use crate::paths::LabDir;
use crate::process::{self, Known, ProcessId};
use crate::start::Starting;
use crate::state::{NodeState, State};
use crate::{impair, wiring};

/// How a node loses its power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PowerLoss {
    /// Asked to shut down: its processes get `SIGTERM` and some seconds, its peers see them
    /// close their connections.
    Off,
    /// Like a pulled plug: first no packet leaves any more, then everything stops at once.
    Cut,
}

/// Starts a node that is off or has died; its `/etc` and `/var` are as it left them. A machine has its power when this
/// returns, and boots on ([`machines::wait_until_up`]).
pub(crate) fn start(dir: &LabDir, state: &mut State, name: &str) -> Result<ProcessId, LabError> {
    let switches = switches(state)?;
    let Some(node) = state.spec.node(name).cloned() else {
        return Err(no_such_node(state, name));
    };
    // What an interrupted command left of it, written down or not.
    for rest in process::first_of(Known::Token(&state.token), name) {
        rest.kill()?;
    }
    wiring::unplug(state, switches, &node)?;
    let mut starting = Starting::spawn(dir, &state.token, name)?;
    let init = starting.ready()?;
    let started = wiring::plug(state, switches, &[(&node, init)])
        .and_then(|()| impair::reapply(state, dir, switches, &node, init))
        .and_then(|()| match state.spec.kind {
            Kind::Namespace => Ok(()),
            Kind::Uml | Kind::Qemu => starting.begin(),
        })
        .and_then(|()| starting.go());
    if let Err(e) = started {
        init.kill()?;
        return Err(e);
    }
    record(state, name, true, Some(init));
    state.save(dir)?;
    Ok(init)
}

/// Takes a node's power away.
pub(crate) fn stop(
    dir: &LabDir,
    state: &mut State,
    name: &str,
    how: PowerLoss,
) -> Result<(), LabError> {
    let switches = switches(state)?;
    let Some(node) = state.spec.node(name).cloned() else {
        return Err(no_such_node(state, name));
    };
    let init = state.nodes.get(name).and_then(NodeState::running);
    // Written first, the process still named: whoever dies in between, the node is neither
    // taken for one that crashed nor forgotten.
    record(state, name, false, init);
    state.save(dir)?;
    if let Some(init) = init {
        match how {
            PowerLoss::Cut => {
                // The kernel closes the sockets of killed processes in good order. A dead
                // machine sends nothing, so the links go first.
                wiring::drop_links(state, switches, &node)?;
                // Nor does it write anything more to its disks.
                let disks = shelf::freeze(init);
                init.kill()?;
                shelf::wait_gone(&disks)?;
            }
            PowerLoss::Off => {
                let disks: Vec<_> = shelf::mounted(init).into_iter().map(|(d, _)| d).collect();
                if !init.terminate(soft_off(state))? {
                    init.kill()?;
                }
                shelf::wait_gone(&disks)?;
            }
        }
    }
    record(state, name, false, None);
    state.save(dir)?;
    wiring::unplug(state, switches, &node)
}

/// How long a node without pools may take to end in good order.
const NODE_OFF: Duration = SOFT_OFF.saturating_add(Duration::from_secs(2));

/// The longest that any node may take, and that a lab is held by whoever switches it off.
pub(crate) const SLOWEST_OFF: Duration = STOPS_POOLS.saturating_add(NODE_OFF);

/// How long a node may take to end in good order.
fn soft_off(state: &State) -> Duration {
    let machine = match state.spec.kind {
        Kind::Namespace => Duration::ZERO,
        Kind::Uml | Kind::Qemu => machines::SHUTS_DOWN * state.spec.slowness(),
    };
    let node = match state.spec.cluster {
        Some(_) => SLOWEST_OFF,
        None => NODE_OFF,
    };
    machine + node
}

fn record(state: &mut State, name: &str, powered: bool, init: Option<ProcessId>) {
    if let Some(entry) = state.nodes.get_mut(name) {
        entry.powered = powered;
        entry.init = init;
    }
}

fn switches(state: &State) -> Result<ProcessId, LabError> {
    state.switches_running().ok_or_else(|| LabError::NotWhole {
        name: state.name.to_string(),
        what: "its switches have died".to_owned(),
    })
}
