//! Who has what open on this host: processes, loop devices and what is stacked on devices, the kernel's
//! target and the kernel's NFS server. This is read from the kernel, so nobody who serves a pool is missed
//! because he does not answer.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use hawser_model::mountinfo;
use hawser_model::octal::unescaped;
use hawser_tool::processes;

use super::mounts::is_remote;
use super::storage_id::{StorageId, StorageIds};

/// Programs that offer what they have open to others, whether they write to it or not.
pub const SERVERS: &[&str] = &[
    "tgtd",
    "istgt",
    "nbd-server",
    "qemu-nbd",
    "qemu-storage-da",
    "scstd",
    "ietd",
];

/// Who has what open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Processes that have something of it open.
    pub processes: Vec<Process>,
    /// Devices that lie on a volume.
    pub above: Vec<Above>,
    /// What the kernel's target has open.
    pub backstores: Vec<Backstore>,
    /// Directories that the kernel's NFS server exports, each with to whom.
    pub nfs: Vec<(String, String)>,
}

/// A process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub pid: i32,
    /// The name of its program.
    pub name: String,
    /// What it has open; `None`: it is a server and cannot be looked at.
    pub open: Option<Vec<Open>>,
}

/// Something that is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Open {
    /// What.
    pub place: StorageId,
    /// Its path, as the kernel has it.
    pub path: String,
    /// Whether it can be written to.
    pub writes: bool,
}

/// A device that lies on a file or on another device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Above {
    /// Its path.
    pub path: String,
    /// Itself.
    pub place: StorageId,
    /// What it lies on.
    pub on: StorageId,
    /// Whether somebody here has made it. The others (partitions, LVM, md) the kernel and udev make of what is
    /// written on the volume: a client decides that they exist.
    pub made_here: bool,
}

/// Something that the kernel's target has open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backstore {
    /// Its folder: `core/iblock_0/name`.
    pub folder: String,
    /// What it has open.
    pub path: String,
    /// What that is.
    pub place: Option<StorageId>,
}

/// Looks. Of processes, only those are told that have one of these volumes open, something that lies on one,
/// or, for servers, something below `root`.
pub fn look(volumes: &StorageIds, root: &Path) -> std::io::Result<Facts> {
    let above = above();
    let places = closure(volumes.keys().copied(), &above);
    let all = processes::all()?.into_iter();
    let open = all.filter_map(|it| process(it.pid, &it.name, &places, root));
    Ok(Facts {
        processes: open.collect(),
        above,
        backstores: backstores(Path::new("/sys/kernel/config/target")),
        nfs: fs::read_to_string("/proc/fs/nfsd/exports").map_or(Vec::new(), |text| nfs(&text)),
    })
}

/// Which of these a process has open.
pub fn open_by(pid: i32, places: &StorageIds) -> BTreeSet<StorageId> {
    let places = places.keys().copied().collect();
    let process = process(pid, "", &places, Path::new("/"));
    let open = process.and_then(|process| process.open);
    open.into_iter().flatten().map(|open| open.place).collect()
}

/// These, and all that lies on them.
pub fn closure(places: impl Iterator<Item = StorageId>, above: &[Above]) -> BTreeSet<StorageId> {
    let mut all: BTreeSet<StorageId> = places.collect();
    loop {
        let on = above.iter().filter(|device| all.contains(&device.on));
        let more: Vec<StorageId> = on
            .map(|device| device.place)
            .filter(|p| !all.contains(p))
            .collect();
        if more.is_empty() {
            return all;
        }
        all.extend(more);
    }
}

/// What a process of this name has open of these places and, when it is a server's, below `root`. `None`: nothing.
pub fn process(pid: i32, name: &str, places: &BTreeSet<StorageId>, root: &Path) -> Option<Process> {
    let folder = Path::new("/proc").join(pid.to_string());
    let server = SERVERS.contains(&name);
    let name = name.to_owned();
    let entries = match descriptors(&folder) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied && server => {
            return Some(Process {
                pid,
                name,
                open: None,
            });
        }
        entries => entries.ok()?,
    };
    let inodes: BTreeSet<u64> = places
        .iter()
        .filter_map(|place| match place {
            StorageId::File { ino, .. } => Some(*ino),
            StorageId::Device(_) => None,
        })
        .collect();
    let mut open = Vec::new();
    for entry in entries {
        let Ok(path) = fs::read_link(&entry) else {
            continue;
        };
        // Sockets and the like.
        if !path.is_absolute() {
            continue;
        }
        // fd/7 is described by fdinfo/7 beside it.
        let of = entry.parent().and_then(Path::parent).unwrap_or(&folder);
        let number = entry.file_name().unwrap_or_default();
        let info = fs::read_to_string(of.join("fdinfo").join(number)).unwrap_or_default();
        let field = |key: &str| {
            let mut lines = info.lines();
            lines.find_map(|line| line.strip_prefix(key).map(str::trim))
        };
        let flags = field("flags:")
            .and_then(|text| u32::from_str_radix(text, 8).ok())
            .unwrap_or(2);
        let only_named = flags & 0o10_000_000 != 0;
        let inode: Option<u64> = field("ino:").and_then(|text| text.parse().ok());
        let ours = server && path.starts_with(root);
        // To look at a file of a file server that is gone takes for ever, so what cannot be one of ours by
        // its number is not looked at.
        let other =
            !path.starts_with("/dev") && inode.is_some_and(|inode| !inodes.contains(&inode));
        if only_named || (other && !ours) {
            continue;
        }
        let Some(place) = StorageId::at(&entry).filter(|place| ours || places.contains(place))
        else {
            continue;
        };
        open.push(Open {
            place,
            path: path.display().to_string(),
            writes: flags & 3 != 0,
        });
    }
    (!open.is_empty()).then_some(Process {
        pid,
        name,
        open: Some(open),
    })
}

/// The descriptors of a process. One that was killed while a thread waits for a disk has a first thread that is a
/// zombie: its list is empty, and the other threads still have the files open.
fn descriptors(process: &Path) -> std::io::Result<Vec<PathBuf>> {
    let list = |folder: &Path| -> std::io::Result<Vec<PathBuf>> {
        let entries = fs::read_dir(folder.join("fd"))?;
        Ok(entries.flatten().map(|entry| entry.path()).collect())
    };
    let all = list(process)?;
    if !all.is_empty() {
        return Ok(all);
    }
    let threads = fs::read_dir(process.join("task")).into_iter().flatten();
    let of_threads = threads
        .flatten()
        .filter_map(|thread| list(&thread.path()).ok());
    Ok(of_threads.flatten().collect())
}

/// Loop devices over files, and devices that hold devices: device-mapper, md, DRBD, partitions.
fn above() -> Vec<Above> {
    let mut all = Vec::new();
    let mounts = fs::read_to_string(mountinfo::OWN).unwrap_or_default();
    for entry in fs::read_dir("/sys/class/block")
        .into_iter()
        .flatten()
        .flatten()
    {
        let folder = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(place) = device(&folder) else {
            continue;
        };
        let path = format!("/dev/{name}");
        if let Ok(file) = fs::read_to_string(folder.join("loop/backing_file")) {
            let file = file.trim_end_matches('\n');
            let here = !is_remote(&mounts, Path::new(file));
            let on = here.then(|| StorageId::at(file)).flatten();
            all.extend(on.map(|on| Above {
                path: path.clone(),
                place,
                on,
                made_here: true,
            }));
        }
        let holders = fs::read_dir(folder.join("holders"))
            .into_iter()
            .flatten()
            .flatten();
        let parts = fs::read_dir(&folder).into_iter().flatten().flatten();
        let parts = parts.filter(|part| part.path().join("partition").exists());
        for over in holders.chain(parts) {
            let path = format!("/dev/{}", over.file_name().to_string_lossy());
            let over = device(&over.path());
            all.extend(over.map(|over| Above {
                path,
                place: over,
                on: place,
                made_here: false,
            }));
        }
    }
    all
}

/// The number of a device that sysfs has.
fn device(folder: &Path) -> Option<StorageId> {
    let text = fs::read_to_string(folder.join("dev")).ok()?;
    let (major, minor) = text.trim().split_once(':')?;
    let (major, minor) = (major.parse().ok()?, minor.parse().ok()?);
    Some(StorageId::Device(nix::sys::stat::makedev(major, minor)))
}

/// What the kernel's target has open, whoever told it to.
fn backstores(root: &Path) -> Vec<Backstore> {
    let folders = |folder: &Path| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let folders = entries.filter(|entry| entry.path().is_dir());
        folders.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let mut all = Vec::new();
    for store in folders(&root.join("core"))
        .iter()
        .flat_map(|plugin| folders(plugin))
    {
        let read = |name: &str| fs::read_to_string(store.join(name)).unwrap_or_default();
        let info = read("info");
        let file = info
            .split_once("File: ")
            .and_then(|(_, rest)| rest.split_once("  Size: "));
        let paths = [
            read("udev_path").trim().to_owned(),
            file.map_or(String::new(), |(path, _)| path.into()),
        ];
        let on = read("enable").trim() == "1";
        let folder = store
            .strip_prefix(root)
            .unwrap_or(&store)
            .display()
            .to_string();
        for path in paths.into_iter().filter(|path| on && path.starts_with('/')) {
            all.push(Backstore {
                folder: folder.clone(),
                place: StorageId::at(&path),
                path,
            });
        }
    }
    all
}

/// The kernel's own table (`/proc/fs/nfsd/exports`): a path, a tab, and to whom, with options in brackets.
fn nfs(text: &str) -> Vec<(String, String)> {
    let one = |line: &str| {
        let (path, rest) = line.split_once('\t')?;
        let (client, _) = rest.split_once('(')?;
        Some((unescaped(path), unescaped(client)))
    };
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::OpenOptions;

    #[test]
    fn who_has_a_file_open_is_found_by_what_it_is_and_not_by_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.img");
        fs::write(&path, "x").unwrap();
        let other = folder.path().join("b.img");
        fs::write(&other, "x").unwrap();
        let volumes = crate::exports::host::storage_id::at(path.to_str().into_iter());
        let own = |facts: Facts| {
            let mine = i32::try_from(std::process::id()).unwrap();
            let process = facts
                .processes
                .into_iter()
                .find(|process| process.pid == mine);
            process.map_or(Vec::new(), |process| process.open.unwrap())
        };
        let _other = OpenOptions::new().write(true).open(&other).unwrap();
        assert_eq!(own(look(&volumes, Path::new("/nowhere")).unwrap()), []);
        let read = fs::File::open(&path).unwrap();
        let renamed = folder.path().join("c.img");
        fs::rename(&path, &renamed).unwrap();
        let found = own(look(&volumes, Path::new("/nowhere")).unwrap());
        assert_eq!((found.len(), found[0].writes), (1, false));
        let write = OpenOptions::new().write(true).open(&renamed).unwrap();
        let found = own(look(&volumes, Path::new("/nowhere")).unwrap());
        assert_eq!(
            (found.len(), found.iter().any(|open| open.writes)),
            (2, true)
        );
        drop((read, write));
        assert_eq!(own(look(&volumes, Path::new("/nowhere")).unwrap()), []);
    }

    #[test]
    fn the_kernel_s_table_of_nfs_and_of_its_target() {
        let text = "# Version 1.1\n# Path Client(Flags) # IPs\n/my\\040pool\t10.0.0.0/24(rw,sync,fsid=1)\n/x\t*(ro)\n";
        assert_eq!(
            nfs(text),
            [
                ("/my pool".into(), "10.0.0.0/24".into()),
                ("/x".into(), "*".into())
            ]
        );
        let root = tempfile::tempdir().unwrap();
        let store = root.path().join("core/fileio_7/a");
        fs::create_dir_all(&store).unwrap();
        fs::write(store.join("udev_path"), "").unwrap();
        fs::write(store.join("enable"), "1\n").unwrap();
        fs::write(store.join("info"), "Status: ACTIVATED\n        TCM FILEIO ID: 0        File: /no where/x.img  Size: 1  Mode: Buffered\n").unwrap();
        let found = backstores(root.path());
        assert_eq!(
            (found[0].folder.as_str(), found[0].path.as_str()),
            ("core/fileio_7/a", "/no where/x.img")
        );
        fs::write(store.join("enable"), "0\n").unwrap();
        assert_eq!(backstores(root.path()), []);
    }
}
