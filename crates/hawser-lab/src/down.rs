//! Taking a lab apart, whatever state it is in.

use std::thread;
use std::time::Duration;

use crate::cgroup;
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
/// Not root; a folder that is no lab's; a process that cannot be killed; a file that cannot be removed.
pub fn down(name: &LabName) -> Result<Down, LabError> {
    need_root()?;
    let root = Root::from_environment();
    // Before a lock is made beside somebody else's files.
    root.lab(name).check_own()?;
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

/// A command that was killed may have left a child that the kernel is just giving its program: it holds the lab's
/// lock no more and has no command line yet, so one look does not find it (`begin_new_exec` in `fs/exec.c` closes
/// files before `create_elf_tables` in `fs/binfmt_elf.c` sets the arguments).
const IN_EXEC: Duration = Duration::from_millis(20);

/// Removes everything of a lab but its lock, which the caller holds.
pub(crate) fn take_apart(root: &Root, name: &LabName) -> Result<(), LabError> {
    let dir = root.lab(name);
    if !dir.path().exists() {
        return Ok(());
    }
    dir.check_own()?;
    let state = State::load(&dir);
    let mut processes = match &state {
        Ok(Some(state)) if state.is_of_this_boot() => recorded(state),
        _ => Vec::new(),
    };
    let known = match &state {
        Ok(Some(state)) => Known::Token(&state.token),
        _ => Known::Folder(dir.path()),
    };
    let mut disks = Vec::new();
    let mut looks_in_vain = 0;
    while looks_in_vain < 2 {
        processes.extend(of_lab(known));
        disks.extend(
            processes
                .iter()
                .flat_map(|process| shelf::mounted(*process))
                .map(|(device, _)| device),
        );
        processes.extend(process::simulators(dir.path()));
        if processes.is_empty() {
            looks_in_vain += 1;
            thread::sleep(IN_EXEC);
        }
        for process in processes.drain(..) {
            process.kill()?;
        }
    }
    shelf::wait_gone(&disks)?;
    cgroup::remove_all(&dir)?;
    dir.remove()
}

fn recorded(state: &State) -> Vec<ProcessId> {
    let nodes = state.nodes.values().filter_map(|node| node.init);
    nodes.chain(state.switches).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_folder_that_is_no_labs_is_left_as_it_is() {
        let labs = tempfile::tempdir().unwrap();
        let root = Root::at(labs.path());
        let name = LabName::new("demo").unwrap();
        let file = root.lab(&name).path().join("vault.db");
        fs::create_dir(root.lab(&name).path()).unwrap();
        fs::write(&file, "somebody's").unwrap();
        let said = take_apart(&root, &name).unwrap_err().to_string();
        assert!(said.contains("demo is not a lab's folder: "), "{said}");
        assert!(said.contains("vault.db"), "{said}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "somebody's");
    }
}
