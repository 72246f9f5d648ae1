//! Taking a lab apart, whatever state it is in.

use std::fs;

use crate::error::LabError;
use crate::lab::need_root;
use crate::lock::Lock;
use crate::name::LabName;
use crate::paths::Root;
use crate::process::{Known, ProcessId, first_processes};
use crate::state::State;

/// Takes a lab down: its processes, and with them its namespaces, interfaces and mounts; then
/// its files. `false` when there was none.
///
/// # Errors
/// Not root; a process that cannot be killed; a file that cannot be removed.
pub fn down(name: &LabName) -> Result<bool, LabError> {
    need_root()?;
    let root = Root::from_environment();
    if !root.lab(name).path().exists() && !root.lock(name).exists() {
        return Ok(false);
    }
    let lock = Lock::take(root.lock(name), &format!("lab {name}"))?;
    let existed = root.lab(name).path().exists();
    take_apart(&root, name)?;
    lock.remove();
    root.remove_if_empty();
    Ok(existed)
}

/// Removes everything of a lab but its lock, which the caller holds.
pub(crate) fn take_apart(root: &Root, name: &LabName) -> Result<(), LabError> {
    let dir = root.lab(name);
    if !dir.path().exists() {
        return Ok(());
    }
    let state = State::load(&dir);
    let mut processes = match &state {
        Ok(Some(state)) => first_processes(Known::Token(&state.token)),
        _ => first_processes(Known::Folder(dir.path())),
    };
    if let Ok(Some(state)) = &state {
        if state.is_of_this_boot() {
            processes.extend(recorded(state));
        }
    }
    for process in processes {
        process.kill()?;
    }
    fs::remove_dir_all(dir.path()).map_err(|e| LabError::io("remove", dir.path(), e))
}

fn recorded(state: &State) -> Vec<ProcessId> {
    let nodes = state.nodes.values().filter_map(|node| node.init);
    nodes.chain(state.switches).collect()
}
