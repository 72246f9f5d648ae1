//! Parameters of the kernel's command line (`/proc/cmdline`), which only a boot changes.

use hawser_model::knob::{Scope, Setting};

use crate::{KernelError, proc};

pub(super) fn read(parameter: &str) -> Result<Setting, KernelError> {
    let line = proc::file("/proc/cmdline")?;
    let present = line.split_whitespace().any(|word| word == parameter);
    Ok(Setting {
        value: if present { "present" } else { "absent" }.to_owned(),
        scope: Scope::Machine,
        largest: None,
        at_boot: true,
    })
}

pub(super) fn write(parameter: &str) -> Result<(), KernelError> {
    Err(KernelError::Absent(format!(
        "{parameter}: a parameter of the kernel's command line takes a boot"
    )))
}
