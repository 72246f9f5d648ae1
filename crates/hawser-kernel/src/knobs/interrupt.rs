//! Which CPUs an interrupt may go to. irqbalance(1) turns the same knob: where it runs, what was
//! set may be gone at its next round, and the value is then left as somebody else's.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use hawser_model::names::InterfaceName;

use crate::journal::lasting;
use crate::{KernelError, proc};

pub(super) fn path(root: &Path, interrupt: u32) -> PathBuf {
    root.join(format!("proc/irq/{interrupt}/smp_affinity_list"))
}

pub(super) fn read(root: &Path, interrupt: u32) -> Result<String, KernelError> {
    Ok(proc::file(path(root, interrupt))?.trim_end().to_owned())
}

pub(super) fn write(root: &Path, interrupt: u32, value: &str) -> Result<(), KernelError> {
    proc::put(path(root, interrupt), value)
}

/// The CPUs of each interrupt of an interface: `24=0-3 25=0-3`.
pub(super) fn of(root: &Path, interface: &InterfaceName) -> Result<String, KernelError> {
    let all = numbers(root, interface)?.into_iter();
    let told: Result<Vec<String>, KernelError> = all
        .map(|number| Ok(format!("{number}={}", read(root, number)?)))
        .collect();
    Ok(told?.join(" "))
}

/// Sets those of an interface's interrupts that `value` names.
pub(super) fn write_all(
    root: &Path,
    interface: &InterfaceName,
    value: &str,
) -> Result<(), KernelError> {
    let own = numbers(root, interface)?;
    for item in value.split_whitespace() {
        let pair = item.split_once('=');
        let Some((number, cpus)) = pair.and_then(|(n, cpus)| Some((n.parse().ok()?, cpus))) else {
            return Err(KernelError::Absent(format!(
                "interrupts of {interface}: `{item}` is not like 24=0-3"
            )));
        };
        if own.contains(&number) && read(root, number)? != cpus {
            lasting()?;
            write(root, number, cpus)?;
        }
    }
    Ok(())
}

/// The interrupts of an interface: the MSI vectors of its device, that of a virtio card below its parent. Those that no driver
/// has asked for have no folder below `/proc/irq`.
fn numbers(root: &Path, interface: &InterfaceName) -> Result<BTreeSet<u32>, KernelError> {
    let name = interface.as_str();
    let strange = name.is_empty() || name.contains(['/', '\0']) || name == "." || name == "..";
    let device = root.join("sys/class/net").join(name).join("device");
    let mut found = BTreeSet::new();
    if !strange {
        for folder in [device.join("msi_irqs"), device.join("../msi_irqs")] {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            let named = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
            found.extend(named.filter(|number| path(root, *number).exists()));
            if !found.is_empty() {
                break;
            }
        }
    }
    match found.is_empty() {
        true => Err(KernelError::Absent(format!(
            "{interface}: its device has no message-signalled interrupts"
        ))),
        false => Ok(found),
    }
}
