//! SCSI disks.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use hawser_model::storage::DiskFacts;

use super::{names, text};

/// Those below `/sys/block`.
pub(super) fn disks(root: &Path) -> BTreeMap<String, DiskFacts> {
    let disk = |name: String| {
        let device = root.join("sys/block").join(&name).join("device");
        // Disks of other kinds have no such state, or one with other words (nvme: `live`).
        let state = text(&device.join("state"))?;
        let address = fs::canonicalize(&device).ok()?;
        let address = address.file_name()?.to_string_lossy().into_owned();
        let facts = DiskFacts { state, address };
        Some((name, facts))
    };
    names(&root.join("sys/block"))
        .filter(|name| name.starts_with("sd"))
        .filter_map(disk)
        .collect()
}
