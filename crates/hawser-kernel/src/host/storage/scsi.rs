//! SCSI disks.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use hawser_model::storage::DiskFacts;

use super::{names, text};

/// The state of each, and nothing else of it. Disks of other kinds have none, or one with other words (nvme: `live`).
pub(super) fn states(root: &Path) -> impl Iterator<Item = (String, String)> {
    let block = root.join("sys/block");
    let disks = names(&block).filter(|name| name.starts_with("sd"));
    disks.filter_map(move |name| {
        let state = text(&block.join(&name).join("device/state"))?;
        Some((name, state))
    })
}

/// Those below `/sys/block`.
pub(super) fn disks(root: &Path) -> BTreeMap<String, DiskFacts> {
    let disk = |(name, state): (String, String)| {
        let device = root.join("sys/block").join(&name).join("device");
        let address = fs::canonicalize(&device).ok()?;
        let address = address.file_name()?.to_string_lossy().into_owned();
        let facts = DiskFacts { state, address };
        Some((name, facts))
    };
    states(root).filter_map(disk).collect()
}
