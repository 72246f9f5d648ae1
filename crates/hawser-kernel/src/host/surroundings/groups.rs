//! The volume groups that a machine sees, also those that are another's (`--foreign`): LVM only lists them.

use std::collections::BTreeMap;
use std::path::Path;

use hawser_model::surroundings::VolumeGroup;

use super::ask;

pub(super) fn seen() -> Result<Vec<VolumeGroup>, String> {
    let arguments = [
        "--foreign",
        "--noheadings",
        "--separator",
        "|",
        "-o",
        "vg_uuid,pv_name,vg_name",
    ];
    Ok(groups(&ask("pvs", &arguments)?))
}

/// A line for each device. LVM's names have no `|` (lvm(8)), and of paths the last part is the kernel's name once links are
/// followed.
fn groups(said: &str) -> Vec<VolumeGroup> {
    let mut all: BTreeMap<&str, VolumeGroup> = BTreeMap::new();
    for line in said.lines() {
        let mut words = line.trim().split('|');
        let (Some(uuid), Some(on), Some(name)) = (words.next(), words.next(), words.next()) else {
            continue;
        };
        // A device that is in no group.
        if name.is_empty() || uuid.is_empty() {
            continue;
        }
        let group = all.entry(uuid).or_default();
        name.clone_into(&mut group.name);
        uuid.clone_into(&mut group.uuid);
        group.on.push(kernel_name(on));
    }
    all.into_values().collect()
}

fn kernel_name(path: &str) -> String {
    let real = Path::new(path).canonicalize();
    let real = real.unwrap_or_else(|_| path.into());
    let name = real.file_name().and_then(|name| name.to_str());
    name.unwrap_or(path).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_told_once_with_its_devices() {
        let said = "  u1|/dev/no-sdb|vg01\n  u1|/dev/no-sdc|vg01\n  |/dev/no-sdd|\n  u2|/dev/no-sda2|debian-vg\n";
        let groups = groups(said);
        assert_eq!(groups.len(), 2);
        assert_eq!((groups[0].name.as_str(), groups[0].on.len()), ("vg01", 2));
        assert_eq!(groups[1].on, ["no-sda2"]);
    }
}
