//! Control groups (version 2) of a lab: one below the caller's for the lab, one in it for each node. A node sees its own
//! as the root of `/sys/fs/cgroup`, so that what is attached there meets the node's processes and nobody else's.
//!
//! They are found by name, wherever the caller of a later command is: `hawser-lab-NAME-HASH`, the hash being that of
//! the lab's folder: of its path and of its number on its disk. In a container, another lab may have the same path.

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hawser_model::mountinfo;
use hawser_tool::{Deadline, Launch};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsconfig_set_flag, fsmount, fsopen,
};

use crate::error::LabError;
use crate::paths::LabDir;

/// The hidden subcommand of `hawser lab` that puts a command into the group of a process.
pub const SUBCOMMAND: &str = "join";

/// Where a node sees its own.
const INSIDE: &str = "sys/fs/cgroup";

/// Killed processes leave a group in milliseconds; more than this is one that hangs in the kernel.
const PATIENCE: Duration = Duration::from_secs(10);

/// The whole hierarchy as the caller's control group namespace shows it.
#[derive(Debug)]
struct Tree {
    root: PathBuf,
    _own: Option<OwnedFd>,
}

impl Tree {
    /// `None` when the kernel has no control groups of version 2.
    fn open() -> Result<Option<Self>, LabError> {
        let path = mountinfo::OWN;
        let mounts = fs::read_to_string(path).map_err(|e| LabError::io("read", path, e))?;
        let there = mounted(&mounts);
        if let Some(place) = there.iter().find(|mount| mount.writable) {
            let root = place.at.clone();
            return Ok(Some(Self { root, _own: None }));
        }
        let failed = |e: rustix::io::Errno| {
            LabError::io("fsopen cgroup2 for", "/sys/fs/cgroup", io::Error::from(e))
        };
        let context = match fsopen("cgroup2", FsOpenFlags::FSOPEN_CLOEXEC) {
            Err(rustix::io::Errno::NODEV) => return Ok(None),
            other => other.map_err(failed)?,
        };
        // A mount from the first namespace sets the options of the hierarchy for all (`cgroup_get_tree`,
        // kernel/cgroup/cgroup.c): they are to stay as they are.
        for option in there.first().iter().flat_map(|mount| &mount.options) {
            fsconfig_set_flag(context.as_fd(), option.as_str()).map_err(failed)?;
        }
        fsconfig_create(context.as_fd()).map_err(failed)?;
        let (flags, quiet) = (FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty());
        let own = fsmount(context.as_fd(), flags, quiet).map_err(failed)?;
        let root = PathBuf::from(format!("/proc/self/fd/{}", own.as_raw_fd()));
        Ok(Some(Self {
            root,
            _own: Some(own),
        }))
    }

    /// Every group of that name.
    fn find(&self, name: &str) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut left = vec![self.root.clone()];
        while let Some(folder) = left.pop() {
            for path in below(&folder) {
                match path.file_name().is_some_and(|last| last == name) {
                    true => found.push(path),
                    false => left.push(path),
                }
            }
        }
        found
    }
}

/// A mount of the hierarchy.
#[derive(Debug, PartialEq, Eq)]
struct Mounted {
    at: PathBuf,
    writable: bool,
    options: Vec<String>,
}

/// The mounts of the hierarchy's root.
fn mounted(text: &str) -> Vec<Mounted> {
    let all = mountinfo::mounted(text).filter(|it| it.fstype == "cgroup2" && it.root == "/");
    let has = |options: &str, wanted: &str| options.split(',').any(|one| one == wanted);
    let mounts = all.map(|it| Mounted {
        writable: has(it.flags, "rw") && has(it.options, "rw"),
        options: it
            .options
            .split(',')
            .filter(|one| !matches!(*one, "rw" | "ro"))
            .map(str::to_owned)
            .collect(),
        at: PathBuf::from(it.place),
    });
    mounts.collect()
}

/// Gives this process, and what it starts from now on, a new group of the node's own.
pub(crate) fn renew(dir: &Path, node: &str) -> Result<(), LabError> {
    let Some(tree) = Tree::open()? else {
        return Ok(());
    };
    let name = name(dir)?;
    // What was attached to it goes with the group, as it does when a machine loses its power.
    for lab in tree.find(&name) {
        remove(&lab.join(node))?;
    }
    let own = fs::read_to_string("/proc/self/cgroup")
        .map_err(|e| LabError::io("read", "/proc/self/cgroup", e))?;
    let group = tree.root.join(of_version_2(&own)).join(name).join(node);
    fs::create_dir_all(&group).map_err(|e| LabError::io("create the control group", &group, e))?;
    join(&group.join("cgroup.procs"))
}

/// Removes every group of a lab. What still runs in one is killed: nobody else's process is there.
pub(crate) fn remove_all(dir: &LabDir) -> Result<(), LabError> {
    let Some(tree) = Tree::open()? else {
        return Ok(());
    };
    tree.find(&name(dir.path())?)
        .iter()
        .try_for_each(|group| remove(group))
}

/// Puts this process into the group of a node whose first process is `init`, and becomes the command.
///
/// # Errors
/// The kernel did not let it; the command does not exist.
pub fn run(init: i32, argv: &[String]) -> Result<(), LabError> {
    // A user of the node may have mounted something else there.
    let procs = PathBuf::from(format!("/proc/{init}/root/{INSIDE}/cgroup.procs"));
    if procs.exists() {
        join(&procs)?;
    }
    let Some((program, arguments)) = argv.split_first() else {
        return Ok(());
    };
    Err(Launch::new(program).args(arguments).exec().into())
}

fn join(procs: &Path) -> Result<(), LabError> {
    fs::write(procs, "0").map_err(|e| LabError::io("join the control group", procs, e))
}

fn name(dir: &Path) -> Result<String, LabError> {
    let lab = dir.file_name().unwrap_or_default().to_string_lossy();
    let about = fs::metadata(dir).map_err(|e| LabError::io("stat", dir, e))?;
    let mut known_by = dir.as_os_str().as_bytes().to_vec();
    known_by.extend(about.dev().to_le_bytes());
    known_by.extend(about.ino().to_le_bytes());
    let hash = crate::init::checksum(&known_by);
    Ok(format!("hawser-lab-{lab}-{hash:08x}"))
}

/// The path of the process in the hierarchy of version 2, in a `/proc/PID/cgroup`. One that lies outside of the
/// namespace (`/../x`) cannot be reached: then the namespace's root.
fn of_version_2(groups: &str) -> &Path {
    let line = groups.lines().find_map(|line| line.strip_prefix("0::/"));
    let path = Path::new(line.unwrap_or_default());
    match path.starts_with("..") {
        true => Path::new(""),
        false => path,
    }
}

fn below(group: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(group).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders.map(|entry| entry.path()).collect()
}

fn remove(group: &Path) -> Result<(), LabError> {
    if !group.exists() {
        return Ok(());
    }
    // Since Linux 5.14; before, killing the lab's processes by name must do.
    let _absent = fs::write(group.join("cgroup.kill"), "1");
    remove_until(group, Deadline::after(PATIENCE))
}

fn remove_until(group: &Path, deadline: Deadline) -> Result<(), LabError> {
    for child in below(group) {
        remove_until(&child, deadline)?;
    }
    let removed = deadline.ask(Duration::from_millis(5), || match fs::remove_dir(group) {
        Err(e) if e.kind() == io::ErrorKind::ResourceBusy => Ok(None),
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(Some(())),
    });
    let removed = removed.and_then(|it| it.ok_or(io::ErrorKind::ResourceBusy.into()));
    removed.map_err(|e| LabError::io("remove the control group", group, e))
}

#[cfg(test)]
mod tests {
    use nix::mount::{MsFlags, mount};

    use super::*;
    use crate::own_mounts::in_own_mounts;

    #[test]
    fn a_lab_of_the_same_path_in_other_mounts_has_other_groups() {
        in_own_mounts(|| {
            let labs = tempfile::tempdir().unwrap();
            let lab = labs.path().join("demo");
            fs::create_dir(&lab).unwrap();
            let first = name(&lab).unwrap();
            assert!(first.starts_with("hawser-lab-demo-"), "{first}");
            assert_eq!(name(&lab).unwrap(), first);
            let tmpfs = Some("tmpfs");
            mount(tmpfs, &lab, tmpfs, MsFlags::empty(), None::<&str>).unwrap();
            assert_ne!(name(&lab).unwrap(), first);
            nix::mount::umount(&lab).unwrap();
        });
    }

    #[test]
    fn the_whole_hierarchy_is_found_among_mounts_with_its_options() {
        let text = "\
            24 1 0:22 / /sys/fs/cgroup rw,nosuid shared:4 - tmpfs tmpfs ro,mode=755\n\
            25 24 0:23 /a /sys/fs/cgroup/part rw - cgroup2 cgroup2 rw,nsdelegate\n\
            26 24 0:23 / /sys/fs/cgroup/unified ro,nosuid shared:5 - cgroup2 cgroup2 rw,nsdelegate\n";
        let found = mounted(text);
        let whole = Mounted {
            at: "/sys/fs/cgroup/unified".into(),
            writable: false,
            options: vec!["nsdelegate".into()],
        };
        assert_eq!(found, [whole]);
    }

    #[test]
    fn the_own_group_is_that_of_version_2() {
        let own = |text| of_version_2(text).display().to_string();
        assert_eq!(own("4:memory:/x\n0::/user.slice/a\n"), "user.slice/a");
        assert_eq!(own("0::/\n"), "");
        assert_eq!(own("0::/../b\n"), "");
        assert_eq!(own("4:memory:/x\n"), "");
    }
}
