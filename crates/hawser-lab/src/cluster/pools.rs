//! The pools that a cluster file asks for, and the shelves that they lie on.

use std::collections::BTreeSet;
use std::path::Path;

use hawser_model::cluster_file::{ClusterFile, Pool, PoolKind};
use serde::{Deserialize, Serialize};

use super::disk::{Disk, is_plain};
use super::shelf::{DISKS, SHELVES};
use super::spec::{ShelfSpec, refused};
use crate::error::LabError;
use crate::machines::Kind;

/// The kernel of a machine has eight disks (user-mode Linux's `ubd0` to `ubd7`), and boots from the first.
const MOST_DISKS: usize = 7;

/// A pool that a head makes of shelves, once: the host need not know what it is made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PoolSpec {
    /// A ZFS pool: a mirror over its disks.
    Zfs {
        /// What it is called on them.
        zpool: String,
        /// Where it is mounted.
        directory: String,
        /// Whether it is to look for another host that writes to it.
        multihost: bool,
        /// Its disks, as heads call them.
        devices: Vec<String>,
    },
    /// A volume group.
    Lvm {
        /// Its name, which is its shelf's as well.
        group: String,
        /// The volume that holds the pool's own files.
        files: String,
    },
}

impl PoolSpec {
    /// The disks that it is made of.
    fn disks(&self) -> Vec<Disk> {
        match self {
            Self::Zfs { devices, .. } => devices.iter().filter_map(|it| Disk::at(it)).collect(),
            Self::Lvm { group, .. } => Disk::at(&format!("{DISKS}{group}")).into_iter().collect(),
        }
    }
}

/// What the pools of a file are on nodes of this kind.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Storage {
    pub shelves: Vec<ShelfSpec>,
    pub pools: Vec<PoolSpec>,
}

/// The shelves of the pools, and those pools that a head makes on them.
pub(super) fn storage(file: &ClusterFile, kind: Kind) -> Result<Storage, LabError> {
    let (mut shelves, mut pools) = (Vec::new(), Vec::new());
    for pool in &file.pools {
        match (*pool.kind, kind) {
            (PoolKind::Filesystem, _) => shelves.push(file_system(pool, kind)?),
            (PoolKind::Zfs, Kind::Uml | Kind::Qemu) => pools.push(zfs(pool)?),
            (PoolKind::Lvm, Kind::Uml | Kind::Qemu) => pools.push(lvm(pool)?),
            (PoolKind::Zfs | PoolKind::Lvm, Kind::Namespace) => {
                return refused(format!(
                    "pool {}: in a lab of namespaces a pool is kind = \"filesystem\" on a loop device; one of machines \
                     (--machines) has ZFS and LVM",
                    pool.name
                ));
            }
        }
    }
    let bare = pools.iter().flat_map(PoolSpec::disks);
    shelves.extend(bare.map(|Disk { name, unit }| ShelfSpec {
        name,
        fstype: None,
        unit,
    }));
    let machine = |shelf: &ShelfSpec| shelf.unit.as_ref().map(|unit| unit.machine.clone());
    for shelf in shelves.iter().filter(|_| kind.is_machine()) {
        let (of, all) = (machine(shelf), shelves.iter());
        let disks = all.filter(|other| machine(other) == of).count();
        if disks > MOST_DISKS {
            return refused(format!(
                "its pools lie on {disks} shelves{}: a machine of a lab has at most {MOST_DISKS} disks beside its own",
                of.map(|of| format!(" of {of}")).unwrap_or_default()
            ));
        }
    }
    let mut seen = BTreeSet::new();
    if let Some(twice) = shelves.iter().find(|shelf| !seen.insert(&shelf.name)) {
        return refused(format!(
            "shelf {} is in its pools twice; each lies on shelves of its own",
            twice.name
        ));
    }
    Ok(Storage { shelves, pools })
}

fn file_system(pool: &Pool, kind: Kind) -> Result<ShelfSpec, LabError> {
    let name = &*pool.name;
    let device = pool.device.as_ref().map(|device| device.as_str());
    let disk = device.and_then(|device| match kind {
        Kind::Namespace => file_name(device),
        _ => Disk::at(device).filter(|it| !it.unit.as_ref().is_some_and(|it| it.partition)),
    });
    let Some(Disk { name: shelf, unit }) = disk else {
        return refused(match kind {
            Kind::Namespace => format!(
                "pool {name}: its device is not a file of {SHELVES}, which is where a lab's shelves are"
            ),
            _ => format!("pool {name}: its device is not {DISKS}NAME, {SEEN}; {UNITS}"),
        });
    };
    let fstype = ext4(pool)?;
    Ok(ShelfSpec {
        name: shelf,
        fstype: Some(fstype.to_owned()),
        unit,
    })
}

/// How a machine sees a shelf.
const SEEN: &str =
    "which is where machines of a lab see its shelves (NAME: letters, digits, \"-\" and \"_\")";

/// How it sees one of a shelf machine.
const UNITS: &str = "or /dev/mapper/MACHINE-NAME, a unit of a shelf machine over two paths, or /dev/disk/by-id/scsi-MACHINE-NAME, over one";

fn ext4(pool: &Pool) -> Result<&str, LabError> {
    match pool.fstype.as_ref().map_or("ext4", |it| it.as_str()) {
        "ext4" => Ok("ext4"),
        other => refused(format!("pool {}: a lab makes ext4, not {other}", pool.name)),
    }
}

/// The disks are those that the cluster is told to look at, as on real heads.
fn zfs(pool: &Pool) -> Result<PoolSpec, LabError> {
    let options = pool.import_options.as_ref().map_or("", |it| it.as_str());
    let devices = pool.devices();
    // Of a unit its partition.
    let is_one = |disk: Disk| disk.unit.is_none_or(|unit| unit.partition);
    let are_all = devices.iter().all(|it| Disk::at(it).is_some_and(is_one));
    // Keys are loaded, if anything is encrypted.
    let words = options.split_whitespace().filter(|it| *it != "-l");
    let nothing_else = words.count() == 2 * devices.len();
    if devices.is_empty() || !are_all || !nothing_else {
        return refused(format!(
            "pool {}: its import_options are \"{options}\"; a lab mirrors it over the disks that they name: \
             \"-d {DISKS}NAME -d {DISKS}NAME\", {SEEN}; {UNITS}, each followed by -part1",
            pool.name
        ));
    }
    Ok(PoolSpec::Zfs {
        zpool: pool.zpool().to_owned(),
        directory: pool.root(),
        multihost: pool.multihost.as_deref().copied().unwrap_or(false),
        devices: devices.into_iter().map(str::to_owned).collect(),
    })
}

/// Nothing of a cluster file says which disks a group lies on.
fn lvm(pool: &Pool) -> Result<PoolSpec, LabError> {
    let (name, _) = (&*pool.name, ext4(pool)?);
    let group = pool.volume_group.as_ref().map_or("", |it| it.as_str());
    if !is_plain(group) {
        return refused(format!(
            "pool {name}: its volume_group is \"{group}\"; a lab's shelf is called so, of letters, digits, \"-\" and \"_\""
        ));
    }
    let device = pool.device.as_ref().map(|device| device.as_str());
    let own = format!("/dev/{group}/");
    let files = device.map_or(Some("hawser"), |device| device.strip_prefix(&own));
    let Some(files) = files.filter(|it| is_plain(it)) else {
        return refused(format!(
            "pool {name}: its device is no volume of its group: {own}NAME"
        ));
    };
    Ok(PoolSpec::Lvm {
        group: group.to_owned(),
        files: files.to_owned(),
    })
}

fn file_name(device: &str) -> Option<Disk> {
    let file = Path::new(device).strip_prefix(SHELVES).ok()?.to_str()?;
    (!file.is_empty() && !file.contains('/')).then(|| Disk {
        name: file.to_owned(),
        unit: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_model::cluster_file::parse_complete;

    const MACHINES: &str = include_str!("../../../../examples/lab/machines.toml");
    const ZFS: &str = include_str!("../../../../examples/lab/machines-zfs.toml");
    const LVM: &str = include_str!("../../../../examples/lab/machines-lvm.toml");

    fn of(text: &str, from: &str, to: &str) -> Result<Storage, LabError> {
        let text = text.replace(from, to);
        storage(&parse_complete(&text, "machines.toml").unwrap(), Kind::Uml)
    }

    fn names(storage: &Storage) -> Vec<&str> {
        let shelves = storage.shelves.iter();
        shelves.map(|it| it.name.as_str()).collect()
    }

    #[test]
    fn machines_see_a_shelf_as_a_disk_of_its_name() {
        let all = of(MACHINES, "", "").unwrap();
        assert_eq!(names(&all), ["vmpool01", "vmpool02"]);
        assert_eq!(all.pools, []);
    }

    #[test]
    fn a_zfs_pool_mirrors_the_disks_that_the_cluster_looks_at() {
        let all = of(ZFS, "", "").unwrap();
        assert_eq!(
            names(&all),
            ["shelf1-1", "shelf2-1", "shelf1-2", "shelf2-2"]
        );
        assert!(all.shelves.iter().all(|shelf| shelf.fstype.is_none()));
        let first = PoolSpec::Zfs {
            zpool: "vmpool01".into(),
            directory: "/vmpool01".into(),
            multihost: false,
            devices: ["shelf1-1", "shelf2-1"]
                .map(|it| format!("{DISKS}{it}"))
                .into(),
        };
        assert_eq!(all.pools[0], first);
        let options = "import_options = \"";
        let with_keys = of(ZFS, options, &format!("{options}-l ")).unwrap();
        assert_eq!(with_keys.pools[0], first);
    }

    #[test]
    fn a_volume_group_lies_on_a_shelf_of_its_name() {
        let all = of(LVM, "", "").unwrap();
        assert_eq!(names(&all), ["vg01", "vg02"]);
        let said = of(LVM, "\"vg01\"", "\"a.b\"").unwrap_err().to_string();
        assert!(said.contains("volume_group is \"a.b\""), "{said}");
    }

    #[test]
    fn what_names_no_disks_of_a_lab_is_refused_with_what_would() {
        let options = "-d /dev/disk/by-id/ubd-shelf1-1 -d /dev/disk/by-id/ubd-shelf2-1";
        for bad in [
            "-d /dev/disk/by-id",
            "-d /dev/disk/by-id/ubd-a -N",
            "-d",
            "-d /dev/disk/by-id/ubd-a,b",
        ] {
            let said = of(ZFS, options, bad).unwrap_err().to_string();
            assert!(
                said.contains(&format!("are \"{bad}\"; a lab mirrors it")),
                "{said}"
            );
        }
        let said = of(ZFS, "shelf1-2", "shelf1-1").unwrap_err().to_string();
        assert!(
            said.contains("shelf shelf1-1 is in its pools twice"),
            "{said}"
        );
        let many = options.to_owned() + &" -d /dev/disk/by-id/ubd-x".repeat(4);
        let said = of(ZFS, options, &many).unwrap_err().to_string();
        assert!(
            said.contains("8 shelves: a machine of a lab has at most 7"),
            "{said}"
        );
        let file = parse_complete(ZFS, "x.toml").unwrap();
        let said = storage(&file, Kind::Namespace).unwrap_err().to_string();
        assert!(said.contains("(--machines) has ZFS and LVM"), "{said}");
    }

    #[test]
    fn a_shelf_that_would_be_another_word_of_a_command_line_is_refused() {
        let device = "/dev/disk/by-id/ubd-vmpool01";
        for bad in [
            "/srv/shelf/vmpool01.img",
            "/dev/disk/by-id/ubd-",
            "/dev/disk/by-id/ubd-a/b",
            "/dev/disk/by-id/ubd-a,b",
            "/dev/disk/by-id/ubd-a b",
        ] {
            let said = of(MACHINES, device, bad).unwrap_err().to_string();
            assert!(said.contains("pool vmpool01: its device is not"), "{said}");
        }
        let said = of(MACHINES, "fstype = \"ext4\"", "fstype = \"xfs\"").unwrap_err();
        assert!(said.to_string().contains("a lab makes ext4, not xfs"));
    }
}
