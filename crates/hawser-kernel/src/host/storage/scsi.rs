//! SCSI disks.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use hawser_model::storage::DiskFacts;

/// Those below `/sys/block`.
pub(super) fn disks(root: &Path) -> BTreeMap<String, DiskFacts> {
    let entries = fs::read_dir(root.join("sys/block")).into_iter().flatten();
    let names = entries
        .flatten()
        .filter_map(|it| it.file_name().into_string().ok());
    let disk = |name: String| {
        let device = root.join("sys/block").join(&name).join("device");
        // Disks of other kinds have no such state, or one with other words (nvme: `live`).
        let state = fs::read_to_string(device.join("state")).ok()?;
        let address = fs::canonicalize(&device).ok()?;
        let address = address.file_name()?.to_string_lossy().into_owned();
        let facts = DiskFacts {
            state: state.trim().to_owned(),
            address,
        };
        Some((name, facts))
    };
    names
        .filter(|name| name.starts_with("sd"))
        .filter_map(disk)
        .collect()
}
