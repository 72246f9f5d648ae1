//! Taking a lab apart, whatever state it is in.

use std::fs;

use crate::cluster::shelf;
use crate::error::LabError;
use crate::impair::Restored;
use crate::impair::machine;
use crate::lab::need_root;
use crate::lock::Lock;
use crate::name::LabName;
use crate::paths::Root;
use crate::process::{self, Known, ProcessId, of_lab};
use crate::state::State;

/// What `down` did.
#[derive(Debug)]
pub struct Down {
    /// Whether there was such a lab.
    pub existed: bool,
    /// Machine-wide settings that were put back.
    pub restored: Vec<Restored>,
}

/// Takes a lab down: its processes, and with them its namespaces, interfaces and mounts; the
/// machine-wide settings it had changed; then its files.
///
/// # Errors
/// Not root; a process that cannot be killed; a file that cannot be removed.
pub fn down(name: &LabName) -> Result<Down, LabError> {
    need_root()?;
    let root = Root::from_environment();
    let mut restored = machine::restore_stale(&root)?;
    if !root.lab(name).path().exists() && !root.lock(name).exists() {
        root.remove_if_empty();
        return Ok(Down {
            existed: false,
            restored,
        });
    }
    let lock = Lock::take(root.lock(name), &format!("lab {name}"))?;
    let existed = root.lab(name).path().exists();
    restored.extend(machine::restore(&root, name)?);
    take_apart(&root, name)?;
    lock.remove();
    root.remove_if_empty();
    Ok(Down { existed, restored })
}

/// Removes everything of a lab but its lock, which the caller holds.
pub(crate) fn take_apart(root: &Root, name: &LabName) -> Result<(), LabError> {
    let dir = root.lab(name);
    if !dir.path().exists() {
        return Ok(());
    }
    let state = State::load(&dir);
    let mut processes = match &state {
        Ok(Some(state)) => of_lab(Known::Token(&state.token)),
        _ => of_lab(Known::Folder(dir.path())),
    };
    if let Ok(Some(state)) = &state {
        if state.is_of_this_boot() {
            processes.extend(recorded(state));
        }
    }
    let disks: Vec<String> = processes
        .iter()
        .flat_map(|process| shelf::mounted(*process))
        .map(|(device, _)| device)
        .collect();
    processes.extend(process::simulators(dir.path()));
    for process in processes {
        process.kill()?;
    }
    shelf::wait_gone(&disks)?;
    fs::remove_dir_all(dir.path()).map_err(|e| LabError::io("remove", dir.path(), e))
}

fn recorded(state: &State) -> Vec<ProcessId> {
    let nodes = state.nodes.values().filter_map(|node| node.init);
    nodes.chain(state.switches).collect()
}
