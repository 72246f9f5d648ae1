//! The SCSI paths of a disk, from the kernel's sysfs.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::host::NodeError;

/// The states of a SCSI device that are set and looked for (`sdev_states`, drivers/scsi/scsi_sysfs.c).
pub(super) const RUNNING: &str = "running";
pub(super) const OFFLINE: &str = "offline";

/// The partition that ZFS keeps for itself on a disk that it was given whole.
const RESERVED: &str = "9";

/// A disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Disk {
    /// The kernel's names of its paths, and their states.
    pub paths: Vec<(String, String)>,
    /// A partition of it that is not the pool's.
    pub others: Option<String>,
}

/// Where a head's devices are.
pub(super) struct Tree {
    root: PathBuf,
}

impl Tree {
    /// Those of this head.
    pub fn here() -> Self {
        Self {
            root: PathBuf::from("/"),
        }
    }

    fn block(&self, name: &str) -> PathBuf {
        self.root.join("sys/class/block").join(name)
    }

    fn read(&self, path: PathBuf) -> Option<String> {
        Some(fs::read_to_string(path).ok()?.trim().to_owned())
    }

    fn names(&self, folder: PathBuf) -> BTreeSet<String> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        names.collect()
    }

    /// The disk behind a device; why that has no paths.
    pub fn disk(&self, device: &Path) -> Result<Result<Disk, String>, NodeError> {
        let (own, disks) = self
            .under(device)
            .map_err(NodeError::file("look at", device))?;
        let mut paths = Vec::new();
        for disk in &disks {
            let state = self.read(self.block(disk).join("device/state"));
            let Some(state) = state.filter(|_| self.address_of(disk).is_some()) else {
                return Ok(Err(format!("{disk} is no SCSI disk")));
            };
            paths.push((disk.clone(), state));
        }
        if disks.len() > 1 && !own.iter().any(|it| self.is_multipath(it)) {
            let all: Vec<&str> = disks.iter().map(String::as_str).collect();
            return Ok(Err(format!("it lies on several disks: {}", all.join(", "))));
        }
        let others = disks.iter().find_map(|disk| self.other(disk, &own));
        Ok(Ok(Disk { paths, others }))
    }

    /// By how many paths the kernel has what a device lies on.
    pub fn paths(&self, device: &Path) -> io::Result<usize> {
        Ok(self.under(device)?.1.len())
    }

    /// What is passed on the way down from a device, and the disks that it lies on.
    fn under(&self, device: &Path) -> io::Result<(BTreeSet<String>, BTreeSet<String>)> {
        let inside = self.root.join(device.strip_prefix("/").unwrap_or(device));
        let real = fs::canonicalize(&inside)?;
        let name = real.file_name().unwrap_or_default().to_string_lossy();
        let (mut own, mut disks) = (BTreeSet::new(), BTreeSet::new());
        self.below(&name, &mut own, &mut disks);
        Ok((own, disks))
    }

    /// Goes down from a device to the disks that it lies on. What is passed is the pool's own.
    fn below(&self, name: &str, own: &mut BTreeSet<String>, disks: &mut BTreeSet<String>) {
        if !own.insert(name.to_owned()) {
            return;
        }
        let slaves = self.names(self.block(name).join("slaves"));
        if !slaves.is_empty() {
            for slave in slaves {
                self.below(&slave, own, disks);
            }
            return;
        }
        match self.whole(name) {
            Some(disk) => self.below(&disk, own, disks),
            None => drop(disks.insert(name.to_owned())),
        }
    }

    /// The disk of a partition.
    fn whole(&self, name: &str) -> Option<String> {
        let folder = fs::canonicalize(self.block(name)).ok()?;
        folder.join("partition").exists().then_some(())?;
        Some(folder.parent()?.file_name()?.to_string_lossy().into_owned())
    }

    fn is_multipath(&self, name: &str) -> bool {
        let uuid = self.read(self.block(name).join("dm/uuid"));
        uuid.is_some_and(|uuid| uuid.starts_with("mpath-"))
    }

    /// What lies on a partition of a disk and is not the pool's.
    fn other(&self, disk: &str, own: &BTreeSet<String>) -> Option<String> {
        let mut mapped = own.iter().filter(|it| self.is_multipath(it)).peekable();
        // Of a multipath device kpartx makes devices of partitions, and the kernel's own ones are no more.
        let (parts, reserved) = match mapped.peek() {
            Some(_) => {
                let above = mapped.flat_map(|it| self.names(self.block(it).join("holders")));
                (above.collect::<Vec<_>>(), format!("part{RESERVED}-"))
            }
            None => {
                let folder = fs::canonicalize(self.block(disk)).ok()?;
                let parts = self.names(folder).into_iter();
                let is_part = |it: &String| self.whole(it).is_some();
                (parts.filter(is_part).collect(), String::new())
            }
        };
        let is_reserved = |name: &str| match reserved.is_empty() {
            true => self.read(self.block(name).join("partition")).as_deref() == Some(RESERVED),
            false => {
                let uuid = self.read(self.block(name).join("dm/uuid"));
                uuid.is_some_and(|uuid| uuid.starts_with(&reserved))
            }
        };
        let mut parts = parts.into_iter();
        parts.find(|name| !own.contains(name) && !is_reserved(name))
    }

    /// The SCSI address of a path: host, channel, target, unit.
    pub fn address(&self, path: &str) -> Result<String, NodeError> {
        let missing = || std::io::Error::from(std::io::ErrorKind::NotFound);
        let address = self.address_of(path);
        address.ok_or_else(|| NodeError::file("read the SCSI address of", path)(missing()))
    }

    fn address_of(&self, path: &str) -> Option<String> {
        let device = fs::canonicalize(self.block(path).join("device")).ok()?;
        let name = device.file_name()?.to_string_lossy().into_owned();
        let numbers: Vec<&str> = name.split(':').collect();
        let is_number = |it: &&str| !it.is_empty() && it.bytes().all(|b| b.is_ascii_digit());
        (numbers.len() == 4 && numbers.iter().all(is_number)).then_some(name)
    }

    fn device(&self, address: &str) -> PathBuf {
        self.root.join("sys/bus/scsi/devices").join(address)
    }

    /// The state of a path; nothing if it is not there.
    pub fn state(&self, address: &str) -> Result<Option<String>, NodeError> {
        Ok(self.read(self.device(address).join("state")))
    }

    /// Sets it.
    pub fn set(&self, address: &str, state: &str) -> Result<(), NodeError> {
        let path = self.device(address).join("state");
        // The kernel takes the word with its newline alone (`store_state_field`).
        fs::write(&path, format!("{state}\n")).map_err(NodeError::file("write to", &path))
    }

    /// A path of these that multipath does not use, by what `dmsetup status` says of its maps.
    pub fn unused(&self, status: &str, addresses: &[String]) -> Option<String> {
        let number = |address: &String| {
            let disks = self.names(self.device(address).join("block"));
            disks
                .into_iter()
                .find_map(|disk| self.read(self.block(&disk).join("dev")))
        };
        let failed: Vec<&str> = failed(status).collect();
        let mut unused = addresses
            .iter()
            .filter(|address| number(address).is_some_and(|it| failed.contains(&it.as_str())));
        unused
            .next()
            .map(|address| format!("multipath does not use {address} yet, which is running again"))
    }
}

/// The device numbers of the paths that are failed: each is followed by `A` or `F` (`multipath_status`, drivers/md/dm-mpath.c).
fn failed(status: &str) -> impl Iterator<Item = &str> {
    let words: Vec<&str> = status.split_whitespace().collect();
    let pairs = words.into_iter().scan("", |before, word| {
        let pair = (*before, word);
        *before = word;
        Some(pair)
    });
    pairs.filter_map(|(number, state)| (state == "F" && number.contains(':')).then_some(number))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A head with a disk over two paths, sda and sdb, with a partition by kpartx, and a file as a loop device.
    fn head() -> (tempfile::TempDir, Tree) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let file = |path: &str, text: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let link = |to: &str, from: &str| {
            let from = root.join(from);
            fs::create_dir_all(from.parent().unwrap()).unwrap();
            symlink(root.join(to), from).unwrap();
        };
        for (disk, host, dev) in [("sda", 2, "8:0"), ("sdb", 3, "8:16")] {
            let device = format!("sys/devices/session{host}/{host}:0:0:1");
            let block = format!("{device}/block/{disk}");
            file(&format!("{device}/state"), "running\n");
            file(&format!("{block}/dev"), dev);
            link(&device, &format!("{block}/device"));
            link(&block, &format!("sys/class/block/{disk}"));
            link(&device, &format!("sys/bus/scsi/devices/{host}:0:0:1"));
            link(&block, &format!("sys/class/block/dm-0/slaves/{disk}"));
        }
        file("sys/class/block/dm-0/dm/uuid", "mpath-36001405a\n");
        file("sys/class/block/dm-1/dm/uuid", "part1-mpath-36001405a\n");
        link("sys/class/block/dm-0", "sys/class/block/dm-1/slaves/dm-0");
        link("sys/class/block/dm-1", "sys/class/block/dm-0/holders/dm-1");
        file("sys/class/block/loop0/size", "1");
        file("dev/dm-1", "");
        file("dev/loop0", "");
        link("dev/dm-1", "dev/mapper/shelf1-1-part1");
        let root = root.to_owned();
        (folder, Tree { root })
    }

    #[test]
    fn the_paths_of_a_multipath_device_are_found_through_its_partition() {
        let (_folder, tree) = head();
        let device = Path::new("/dev/mapper/shelf1-1-part1");
        let disk = tree.disk(device).unwrap().unwrap();
        let state = |path: &str| (path.to_owned(), RUNNING.to_owned());
        assert_eq!(disk.paths, [state("sda"), state("sdb")]);
        assert_eq!(disk.others, None);
        assert_eq!(tree.paths(device).unwrap(), 2);
        assert_eq!(tree.address("sdb").unwrap(), "3:0:0:1");
        let no_scsi = tree.disk(Path::new("/dev/loop0")).unwrap().unwrap_err();
        assert_eq!(no_scsi, "loop0 is no SCSI disk");
    }

    #[test]
    fn another_partition_of_the_disk_is_named() {
        let (_folder, tree) = head();
        let block = tree.root.join("sys/class/block");
        let second = block.join("dm-2/dm");
        fs::create_dir_all(&second).unwrap();
        fs::write(second.join("uuid"), "part2-mpath-36001405a").unwrap();
        symlink(block.join("dm-2"), block.join("dm-0/holders/dm-2")).unwrap();
        let device = Path::new("/dev/mapper/shelf1-1-part1");
        let disk = tree.disk(device).unwrap().unwrap();
        assert_eq!(disk.others.as_deref(), Some("dm-2"));
        fs::write(second.join("uuid"), "part9-mpath-36001405a").unwrap();
        assert_eq!(tree.disk(device).unwrap().unwrap().others, None);
    }

    #[test]
    fn a_path_is_set_and_found_again_by_its_address() {
        let (_folder, tree) = head();
        tree.set("3:0:0:1", OFFLINE).unwrap();
        let written = tree.root.join("sys/bus/scsi/devices/3:0:0:1/state");
        assert_eq!(fs::read_to_string(written).unwrap(), "offline\n");
        assert_eq!(tree.state("3:0:0:1").unwrap().as_deref(), Some(OFFLINE));
        assert_eq!(tree.state("4:0:0:1").unwrap(), None);
    }

    #[test]
    fn a_path_that_multipath_counts_as_failed_is_not_in_use() {
        let (_folder, tree) = head();
        // As Linux 6.1 says it of a device with one group of two paths.
        let status = |second: &str| {
            format!(
                "shelf1-1: 0 1048576 multipath 2 0 0 0 1 1 A 0 2 0 8:0 A 0 8:16 {second} 1\n\
                 shelf1-2: 0 1048576 multipath 2 0 0 0 1 1 A 0 2 0 8:32 F 1 8:48 A 0\n"
            )
        };
        let paths = ["2:0:0:1".to_owned(), "3:0:0:1".to_owned()];
        let said = tree.unused(&status("F"), &paths).unwrap();
        assert!(said.contains("3:0:0:1"), "{said}");
        assert_eq!(tree.unused(&status("A"), &paths), None);
        assert_eq!(tree.unused("", &paths), None);
    }
}
