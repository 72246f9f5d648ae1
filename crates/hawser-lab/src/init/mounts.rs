//! A node's own file systems: `/etc` and `/var` over the host's, an empty `/run`, `/tmp` and
//! `/dev/shm`, and the kernel's views of the node's own namespaces.

use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::stat::Mode;

use super::{BIN_INSIDE, MACHINE_NET, no_cluster};
use crate::cluster::shelf::SHELVES;
use crate::error::LabError;
use crate::paths::{DIR_VARIABLE, LabDir};
use crate::plan;
use crate::state::State;

/// Where Pacemaker looks for resource agents (`OCF_ROOT`).
const RESOURCE_AGENTS: &str = "/usr/lib/ocf/resource.d";

/// Folders of the host that a node sees through an overlay of its own.
const OVERLAID: [&str; 2] = ["etc", "var"];

/// Mounts everything of a node and writes its first configuration.
pub(super) fn node(dir: &LabDir, name: &str, state: &State) -> Result<(), LabError> {
    kernel_filesystems()?;
    // The lab's folder may lie under a path that is about to be covered: hold on to it.
    let held = hold(dir.path())?;
    let lab = LabDir(format!("/proc/self/fd/{}", held.as_raw_fd()).into());
    configuration(&upper(&lab.node(name), "etc"), name, state)?;
    let is_head = is_head(name, state);
    if is_head {
        no_cluster::prepare(Path::new("/"), &lab.node(name))?;
    }
    for folder in OVERLAID {
        overlay(&lab, name, folder)?;
    }
    memory("/run", 0o755)?;
    memory("/tmp", 0o1777)?;
    memory("/dev/shm", 0o1777)?;
    folder("/run/lock", 0o1777)?;
    binary(&lab)?;
    if is_head {
        head(&lab, name)?;
    }
    // Other labs' files, and this one's, are no business of the node.
    if Path::new("/var/lib/hawser").is_dir() {
        memory("/var/lib/hawser", 0o755)?;
        for kept in OUTLIVES {
            outliving(&lab.node(name), kept)?;
        }
    }
    Ok(())
}

fn is_head(name: &str, state: &State) -> bool {
    state.spec.cluster.is_some() && state.members().any(|node| node.name.as_str() == name)
}

/// Where a node keeps what it has changed of a folder.
pub(super) fn upper(node: &Path, folder: &str) -> PathBuf {
    node.join(format!("{folder}.upper"))
}

/// Mounts what the switches have of their own: a `/run` of the lab's, so that a network namespace that is made among
/// them is not one of the machine's, and the lab's folder in it, should that lie there.
pub(super) fn switches(dir: &LabDir) -> Result<(), LabError> {
    kernel_filesystems()?;
    let real = fs::canonicalize(dir.path())
        .map_err(|e| LabError::io("resolve the path", dir.path(), e))?;
    let held = hold(&real)?;
    memory("/run", 0o755)?;
    if !real.starts_with("/run") {
        return Ok(());
    }
    let (from, to) = (
        format!("/proc/self/fd/{}", held.as_raw_fd()),
        real.display().to_string(),
    );
    folder(&to, 0o755)?;
    mount(
        Some(from.as_str()),
        to.as_str(),
        None::<&str>,
        MsFlags::MS_BIND,
        None::<&str>,
    )
    .map_err(|e| LabError::system("mount --bind", to, e))
}

/// Keeps a folder reachable whose path is about to be covered.
fn hold(folder: &Path) -> Result<OwnedFd, LabError> {
    let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    open(folder, flags, Mode::empty())
        .map_err(|e| LabError::system("open", folder.display().to_string(), e))
}

/// `/proc` and `/sys` as the new namespaces see them, with what usually hangs below `/sys`.
pub(crate) fn kernel_filesystems() -> Result<(), LabError> {
    // Nothing that is mounted here is mounted on the host. What the host unmounts is unmounted here too: it would still be
    // in use otherwise, and a pool could not be exported.
    let slave = MsFlags::MS_REC | MsFlags::MS_SLAVE;
    mount(None::<&str>, "/", None::<&str>, slave, None::<&str>)
        .map_err(|e| LabError::system("mount --make-rslave", "/", e))?;
    let quiet = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    new("proc", "/proc", quiet, None)?;
    // What the host mounted there belongs to the host's network namespace.
    match umount2("/sys", MntFlags::MNT_DETACH) {
        Ok(()) | Err(Errno::EINVAL) => {}
        Err(e) => return Err(LabError::system("umount", "/sys", e)),
    }
    new("sysfs", "/sys", quiet, None)?;
    for (kind, place) in [
        ("cgroup2", "/sys/fs/cgroup"),
        ("bpf", "/sys/fs/bpf"),
        ("tracefs", "/sys/kernel/tracing"),
        ("mqueue", "/dev/mqueue"),
    ] {
        // Kernels are built without each of these; what needs one says so itself.
        let _absent = new(kind, place, quiet, None);
    }
    Ok(())
}

fn overlay(lab: &LabDir, name: &str, folder: &str) -> Result<(), LabError> {
    overlay_at(lab, name, folder, &format!("/{folder}"))
}

/// An overlay over `target`, whose upper layer is called `folder`.
fn overlay_at(lab: &LabDir, name: &str, folder: &str, target: &str) -> Result<(), LabError> {
    let own = lab.node(name);
    let upper = upper(&own, folder);
    let work = own.join(format!("{folder}.work"));
    for path in [&upper, &work] {
        fs::create_dir_all(path).map_err(|e| LabError::io("create the folder", path, e))?;
    }
    let options = format!(
        "lowerdir={target},upperdir={},workdir={}",
        upper.display(),
        work.display()
    );
    new("overlay", target, MsFlags::empty(), Some(&options)).map_err(|e| match e {
        LabError::System {
            call,
            object,
            errno: errno @ (Errno::EINVAL | Errno::EOPNOTSUPP),
        } => LabError::System {
            call,
            object: format!(
                "{object} (the file system of the lab's folder may not carry an overlay; \
                 {DIR_VARIABLE} moves it to another, such as /dev/shm/hawser)"
            ),
            errno,
        },
        other => other,
    })
}

/// Writes what makes the node itself, before the first boot only: what its user changes stays.
fn configuration(upper: &Path, name: &str, state: &State) -> Result<(), LabError> {
    let machine = format!("{:.24}{:08x}\n", state.token, checksum(name.as_bytes()));
    let files = [
        ("hostname", format!("{name}\n")),
        ("hosts", plan::hosts_file(&state.spec)),
        ("machine-id", machine),
    ];
    fs::create_dir_all(upper).map_err(|e| LabError::io("create the folder", upper, e))?;
    for (file, text) in files {
        write_once(&upper.join(file), &text)?;
    }
    let Some(cluster) = &state.spec.cluster else {
        return Ok(());
    };
    if is_head(name, state) {
        let own = upper.join("hawser");
        fs::create_dir_all(&own).map_err(|e| LabError::io("create the folder", &own, e))?;
        write_once(&own.join("hawser.toml"), &cluster.file)?;
    }
    Ok(())
}

/// Writes a file that is not there.
fn write_once(path: &Path, text: &str) -> Result<(), LabError> {
    match path.exists() {
        true => Ok(()),
        false => fs::write(path, text).map_err(|e| LabError::io("write", path, e)),
    }
}

/// FNV-1a: short names for long ones.
pub(crate) fn checksum(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193)
    })
}

/// The lab's own binary, read-only, at [`BIN_INSIDE`].
fn binary(lab: &LabDir) -> Result<(), LabError> {
    folder(BIN_INSIDE, 0o755)?;
    let from = lab.bin();
    let bind = MsFlags::MS_BIND;
    mount(Some(&from), BIN_INSIDE, None::<&str>, bind, None::<&str>)
        .map_err(|e| LabError::system("mount --bind", BIN_INSIDE, e))?;
    let read_only = MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_RDONLY;
    mount(
        None::<&str>,
        BIN_INSIDE,
        None::<&str>,
        read_only,
        None::<&str>,
    )
    .map_err(|e| LabError::system("mount -o remount,ro", BIN_INSIDE, e))
}

/// What a head has beside: the shelves, and Hawser's own resource agents where Pacemaker looks for it.
fn head(lab: &LabDir, name: &str) -> Result<(), LabError> {
    memory("/srv", 0o755)?;
    folder(SHELVES, 0o755)?;
    let (from, bind) = (lab.shelves(), MsFlags::MS_BIND);
    mount(Some(&from), SHELVES, None::<&str>, bind, None::<&str>)
        .map_err(|e| LabError::system("mount --bind", SHELVES, e))?;
    let own = lab.node(name);
    let agents = own.join("ocf.upper/hawser");
    fs::create_dir_all(&agents).map_err(|e| LabError::io("create the folder", &agents, e))?;
    for (name, words) in [("exports", "exports ocf"), ("hooks", "exports ocf-hooks")] {
        let agent = agents.join(name);
        let script = format!("#!/bin/sh\nexec {BIN_INSIDE}/hawser {words} \"$@\"\n");
        fs::write(&agent, script)
            .and_then(|()| fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)))
            .map_err(|e| LabError::io("write", &agent, e))?;
    }
    overlay_at(lab, name, "ocf", RESOURCE_AGENTS)
}

/// What of Hawser's own outlives a node's power, as on a disk: the journal of changes, and what a watch keeps.
const OUTLIVES: [&str; 3] = ["changes", "incidents", "readings"];

fn outliving(node: &Path, name: &str) -> Result<(), LabError> {
    let (from, inside) = (node.join(name), format!("/var/lib/hawser/{name}"));
    folder(&from.display().to_string(), 0o700)?;
    folder(&inside, 0o700)?;
    let (to, bind) = (inside.as_str(), MsFlags::MS_BIND);
    mount(Some(&from), to, None::<&str>, bind, None::<&str>)
        .map_err(|e| LabError::system("mount --bind", inside.clone(), e))
}

/// The machine's network namespace, which is open as `descriptor`, at [`MACHINE_NET`].
pub(super) fn machine_net(descriptor: i32) -> Result<(), LabError> {
    fs::write(MACHINE_NET, "").map_err(|e| LabError::io("create", MACHINE_NET, e))?;
    let from = format!("/proc/self/fd/{descriptor}");
    mount(
        Some(from.as_str()),
        MACHINE_NET,
        None::<&str>,
        MsFlags::MS_BIND,
        None::<&str>,
    )
    .map_err(|e| LabError::system("mount --bind", MACHINE_NET, e))
}

fn memory(place: &str, mode: u32) -> Result<(), LabError> {
    let options = format!("mode={mode:o}");
    new(
        "tmpfs",
        place,
        MsFlags::MS_NOSUID | MsFlags::MS_NODEV,
        Some(&options),
    )
}

fn folder(path: &str, mode: u32) -> Result<(), LabError> {
    fs::create_dir_all(path)
        .and_then(|()| fs::set_permissions(path, fs::Permissions::from_mode(mode)))
        .map_err(|e| LabError::io("create the folder", path, e))
}

fn new(kind: &str, place: &str, flags: MsFlags, options: Option<&str>) -> Result<(), LabError> {
    mount(Some(kind), place, Some(kind), flags, options)
        .map_err(|e| LabError::system("mount", format!("{kind} on {place}"), e))
}
