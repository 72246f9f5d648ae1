//! Which CPUs an interrupt may go to. irqbalance(1) turns the same knob: where it runs, what was
//! set may be gone at its next round, and the value is then left as somebody else's.

use std::path::PathBuf;

use crate::{KernelError, proc};

fn path(interrupt: u32) -> PathBuf {
    PathBuf::from(format!("/proc/irq/{interrupt}/smp_affinity_list"))
}

pub(super) fn read(interrupt: u32) -> Result<String, KernelError> {
    Ok(proc::file(path(interrupt))?.trim_end().to_owned())
}

pub(super) fn write(interrupt: u32, value: &str) -> Result<(), KernelError> {
    proc::put(path(interrupt), value)
}
