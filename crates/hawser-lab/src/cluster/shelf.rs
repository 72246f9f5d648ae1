//! Shelves: files of the lab that every head sees as disks, each through a loop device of its own; a head that is a machine
//! has them as disks of its kernel.

use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hawser_model::mountinfo;
use hawser_tool::{Deadline, Tool};

use super::shutdown;
use super::spec::ClusterSpec;
use crate::error::LabError;
use crate::paths::LabDir;
use crate::process::ProcessId;

/// Where the heads see them.
pub(crate) const SHELVES: &str = "/srv/shelf";

/// What a machine calls one, before its name (`image/setup` has the rule for udev).
pub(crate) const DISKS: &str = "/dev/disk/by-id/ubd-";

/// The size of a shelf in bytes. The file is sparse: it takes the room that is written to.
const SIZE: u64 = 512 << 20;

/// The sector at which a partition begins, on a boundary of 1 MiB as everybody's.
const BEGINS: u32 = 2048;

/// The volume that each pool begins with.
pub(super) const VOLUME_NAME: &str = "volume01";
/// Its size in bytes.
pub(super) const VOLUME_SIZE: u64 = 64 << 20;

/// The `exports.toml` that each pool begins with.
pub(super) const EXPORTS: &str =
    "# Empty: every volume of the pool is offered to everybody (docs/exports.md).\n";

/// The kernel lets a loop device go 14 ms after its node was killed (measured); more than this
/// is another user of it.
const PATIENCE: Duration = Duration::from_secs(5);

/// Makes the shelves that are not there yet, each with its file system if it is to have one.
pub(crate) fn make(dir: &LabDir, cluster: &ClusterSpec) -> Result<(), LabError> {
    let folder = dir.shelves();
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&folder)
        .map_err(|e| LabError::io("create the folder", &folder, e))?;
    for shelf in &cluster.shelves {
        let path = folder.join(&shelf.name);
        if path.exists() {
            continue;
        }
        // Under another name until it is whole: an interrupted `up` must not leave half a one.
        let new = folder.join(format!("{}.new", shelf.name));
        File::create(&new)
            .and_then(|file| file.set_len(SIZE))
            .map_err(|e| LabError::io("create", &new, e))?;
        if let Some(fstype) = &shelf.fstype {
            make_file_system(&new, fstype)?;
        }
        if shelf.unit.as_ref().is_some_and(|unit| unit.partition) {
            fs::write(&new, partition_table())
                .and_then(|()| File::options().write(true).open(&new)?.set_len(SIZE))
                .map_err(|e| LabError::io("write", &new, e))?;
        }
        fs::rename(&new, &path).map_err(|e| LabError::io("rename", &new, e))?;
    }
    Ok(())
}

/// A master boot record with one partition over the whole disk, as far as sectors of 512 bytes are counted in 32 bits.
fn partition_table() -> [u8; 512] {
    let mut sector = [0; 512];
    let entry = &mut sector[446..462];
    // ZFS's type, of Solaris; no geometry.
    entry[4] = 0xbf;
    entry[8..12].copy_from_slice(&BEGINS.to_le_bytes());
    let sectors = u32::try_from(SIZE / 512).unwrap_or(u32::MAX);
    entry[12..].copy_from_slice(&(sectors - BEGINS).to_le_bytes());
    sector[510..].copy_from_slice(&[0x55, 0xaa]);
    sector
}

/// Makes a file system that has what a pool needs to be offered: its `exports.toml` and a volume.
fn make_file_system(path: &Path, fstype: &str) -> Result<(), LabError> {
    let program = format!("mkfs.{fstype}");
    let folder = path.with_extension("content");
    fs::create_dir_all(&folder).map_err(|e| LabError::io("create the folder", &folder, e))?;
    let exports = folder.join("exports.toml");
    fs::write(&exports, EXPORTS).map_err(|e| LabError::io("write", &exports, e))?;
    let volume = folder.join(format!("{VOLUME_NAME}.img"));
    File::create(&volume)
        .and_then(|file| file.set_len(VOLUME_SIZE))
        .map_err(|e| LabError::io("create", &volume, e))?;
    let output = Tool::new(&program)
        .args(["-q", "-F", "-d"])
        .args([folder.as_path(), path])
        .output()
        .map_err(|e| LabError::Tool {
            what: e.reason(),
            command: program.clone(),
        })?;
    fs::remove_dir_all(&folder).map_err(|e| LabError::io("remove", &folder, e))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(LabError::Tool {
            command: format!("{program} {}", path.display()),
            what: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        }),
    }
}

/// The shelves that are mounted in a node: loop device and place.
///
/// A node sees what was mounted on the host when it was made, which is none of its business:
/// only what lies on a shelf and is not mounted here counts.
pub(crate) fn mounted(init: ProcessId) -> Vec<(Disk, PathBuf)> {
    let here = loops("self");
    let on_a_shelf = |device: &str| {
        let backing = format!("/sys/block/{device}/loop/backing_file");
        fs::read_to_string(backing).is_ok_and(|path| path.starts_with(SHELVES))
    };
    let all = loops(&init.pid.to_string()).into_iter();
    all.filter(|(device, _)| on_a_shelf(device) && !here.iter().any(|(other, _)| other == device))
        .map(|(device, place)| (Disk::now(device), place))
        .collect()
}

fn loops(process: &str) -> Vec<(String, PathBuf)> {
    let text = fs::read_to_string(format!("/proc/{process}/mountinfo")).unwrap_or_default();
    let loops = mountinfo::mounted(&text).filter_map(|it| {
        let device = it.source.strip_prefix("/dev/")?;
        let is_loop = device.starts_with("loop");
        is_loop.then(|| (device.to_owned(), PathBuf::from(it.place)))
    });
    loops.collect()
}

/// Stops the file systems of a node in their tracks, as a power cut does.
///
/// The kernel would unmount them in good order when the node's processes are killed, and went on
/// writing for 258 ms (measured) after the fence agent had reported the node off.
pub(crate) fn freeze(init: ProcessId) -> Vec<Disk> {
    let mounted = mounted(init);
    for (_, place) in &mounted {
        let place = place.strip_prefix("/").unwrap_or(place);
        let inside = PathBuf::from(format!("/proc/{}/root", init.pid)).join(place);
        // A file system that knows no such thing (its kernel module says ENOTTY) is unmounted.
        let _unsupported = shutdown::file_system(&inside);
    }
    mounted.into_iter().map(|(device, _)| device).collect()
}

/// A loop device as it is set up now. Its name is given to the next one as soon as it is let go.
#[derive(Clone, Debug)]
pub(crate) struct Disk {
    name: String,
    /// Another each time the device is set up (`/sys/block/NAME/diskseq`, Linux 5.15).
    sequence: Option<u64>,
}

impl Disk {
    fn now(name: String) -> Self {
        let sequence = sequence(&name);
        Self { name, sequence }
    }

    fn is_gone(&self) -> bool {
        let in_use = Path::new(&format!("/sys/block/{}/loop", self.name)).exists();
        !in_use || sequence(&self.name) != self.sequence
    }
}

fn sequence(name: &str) -> Option<u64> {
    let text = fs::read_to_string(format!("/sys/block/{name}/diskseq")).ok()?;
    text.trim().parse().ok()
}

/// Waits until the loop devices of a node that has ended are let go. Another node, or another lab, may have got
/// their names by then.
pub(crate) fn wait_gone(disks: &[Disk]) -> Result<(), LabError> {
    let mut left = None;
    Deadline::after(PATIENCE).holds(Duration::from_millis(2), || {
        left = disks.iter().find(|disk| !disk.is_gone());
        left.is_none()
    });
    let late = |disk: &Disk| {
        let device = format!("/dev/{}", disk.name);
        LabError::system("wait for the end of", device, nix::errno::Errno::ETIMEDOUT)
    };
    left.map_or(Ok(()), |disk| Err(late(disk)))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// A loop device over a new file; nothing when this machine has none to give.
    fn set_up(file: &Path) -> Option<String> {
        File::create(file).unwrap().set_len(1 << 20).unwrap();
        let losetup = Tool::new("losetup").args(["--find", "--show"]);
        let made = losetup.args([file]).output().ok()?;
        let path = String::from_utf8(made.stdout).unwrap();
        let name = path.trim().strip_prefix("/dev/")?.to_owned();
        made.status.success().then_some(name)
    }

    fn take_down(name: &str) {
        let gone = Tool::new("losetup").args(["--detach", &format!("/dev/{name}")]);
        assert!(gone.output().unwrap().status.success());
    }

    #[test]
    fn a_disk_whose_name_another_got_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let Some(name) = set_up(&folder.path().join("one")) else {
            // Past the harness, which shows nothing of a test that passes.
            let why =
                "\nskipped: a_disk_whose_name_another_got_is_gone: needs root and a loop device\n";
            std::io::stderr().write_all(why.as_bytes()).unwrap();
            return;
        };
        let disk = Disk::now(name.clone());
        assert!(!disk.is_gone());
        take_down(&name);
        wait_gone(std::slice::from_ref(&disk)).unwrap();
        let again = set_up(&folder.path().join("two")).unwrap();
        assert!(disk.is_gone(), "{again} is another one");
        take_down(&again);
    }
}
