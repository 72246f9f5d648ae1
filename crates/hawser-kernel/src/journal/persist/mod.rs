//! Making a change last over a reboot, in files that are wholly Hawser's.

mod sysctl_d;

use std::path::{Path, PathBuf};

use hawser_model::knob::{Change, Knob};

use crate::KernelError;

/// The file that would make a change last; else why none can.
pub(super) fn plan(etc: &Path, change: &Change) -> Result<PathBuf, String> {
    match &change.knob {
        Knob::Sysctl { name } => sysctl_d::plan(etc, name),
        Knob::Placebo => Err("a placebo has nothing to keep".to_owned()),
        other => Err(format!(
            "Hawser writes no configuration of interfaces: until the next boot only; \
             set {other} to `{}` in the host's own network configuration",
            change.after
        )),
    }
}

/// Brings the files in line with these changes; without any, the files are gone.
pub(super) fn write<'a>(
    etc: &Path,
    changes: impl Iterator<Item = &'a Change>,
) -> Result<(), KernelError> {
    sysctl_d::write(etc, changes)
}
