//! SCSI disks.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use hawser_model::storage::{DiskFacts, ShelfSlot};

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
        let facts = DiskFacts {
            state,
            address,
            wwid: text(&device.join("wwid")).filter(|it| !it.is_empty()),
            shelf: shelf(&device),
        };
        Some((name, facts))
    };
    states(root).filter_map(disk).collect()
}

/// The slot of a disk: the link `enclosure_device:SLOT` leads to the slot, which stands below its shelf (`enclosure_add_links` in
/// drivers/misc/enclosure.c). Only a kernel that has loaded `ses` has it.
fn shelf(device: &Path) -> Option<ShelfSlot> {
    let slot =
        names(device).find_map(|name| Some(name.strip_prefix("enclosure_device:")?.to_owned()))?;
    let component = fs::canonicalize(device.join(format!("enclosure_device:{slot}"))).ok()?;
    let shelf = text(&component.parent()?.join("id")).filter(|it| !it.is_empty())?;
    Some(ShelfSlot { shelf, slot })
}
