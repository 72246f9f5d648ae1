//! No room is left where Pacemaker keeps its configuration. The disk behind it may be the machine's and is not filled:
//! a small file system is laid over the folder.

use std::fs;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::MetadataExt;

use nix::mount::{MsFlags, mount, umount};
use nix::sys::statvfs::statvfs;
use nix::unistd::{Gid, Uid, chown};

use super::is_mounted;
use crate::host::{NodeError, run};

const FOLDER: &str = "/var/lib/pacemaker";

/// Where it is filled, before it is laid over the folder.
const FILLED: &str = "/run/hawser/drill-full";

/// What the table of mounts calls it.
const NAME: &str = "hawser-drill";

pub(super) fn make() -> Result<(), NodeError> {
    fs::create_dir_all(FILLED).map_err(NodeError::file("create", FILLED))?;
    let nothing: Option<&str> = None;
    let (kind, options) = (Some("tmpfs"), Some("mode=755,size=1m"));
    mount(Some(NAME), FILLED, kind, MsFlags::empty(), options)
        .map_err(|e| NodeError::file("mount a file system on", FILLED)(e.into()))?;
    // What does not fit is missed as if the disk had been full when it was written.
    let _not_all = run::output("cp", &["-a", &format!("{FOLDER}/."), FILLED], None)?;
    fill().map_err(NodeError::file("fill", FILLED))?;
    let owner = fs::metadata(FOLDER).map_err(NodeError::file("look at", FOLDER))?;
    let (user, group) = (Uid::from_raw(owner.uid()), Gid::from_raw(owner.gid()));
    chown(FILLED, Some(user), Some(group))
        .map_err(|e| NodeError::file("chown", FILLED)(e.into()))?;
    mount(Some(FILLED), FOLDER, nothing, MsFlags::MS_BIND, nothing)
        .map_err(|e| NodeError::file("bind over", FOLDER)(e.into()))?;
    umount(FILLED).map_err(|e| NodeError::file("unmount", FILLED)(e.into()))
}

fn fill() -> std::io::Result<()> {
    let mut file = fs::File::create(format!("{FILLED}/full"))?;
    loop {
        match file.write_all(&[0; 4096]) {
            Ok(()) => {}
            Err(e) if e.kind() == ErrorKind::StorageFull => return Ok(()),
            Err(e) => return Err(e),
        }
    }
}

pub(super) fn shown() -> Result<Option<String>, NodeError> {
    if !is_mounted(NAME, FOLDER)? {
        return Ok(None);
    }
    let room = statvfs(FOLDER).map_err(|e| NodeError::file("statvfs", FOLDER)(e.into()))?;
    Ok((room.blocks_available() == 0).then(|| format!("no room left in {FOLDER}")))
}

/// Takes it away, also when it is not there.
pub(super) fn mend() -> Result<(), NodeError> {
    for place in [FOLDER, FILLED] {
        while is_mounted(NAME, place)? {
            umount(place).map_err(|e| NodeError::file("unmount", place)(e.into()))?;
        }
    }
    match fs::remove_dir(FILLED) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(NodeError::file("remove", FILLED)(e)),
        _ => Ok(()),
    }
}
