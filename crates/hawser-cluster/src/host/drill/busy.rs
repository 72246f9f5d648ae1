//! Nothing can be unmounted: `umount` says that the target is busy, whatever is killed. (What really keeps a file
//! system busy, its agent finds and kills.)

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use nix::mount::{MsFlags, mount, umount};

use crate::host::NodeError;

/// Where `umount` is, the first that exists.
const PROGRAMS: [&str; 2] = ["/usr/bin/umount", "/bin/umount"];

/// What lies over it.
const BUSY: &str = "/run/hawser/drill-umount";

const SCRIPT: &str = "#!/bin/sh\necho 'umount: target is busy.' >&2\nexit 32\n";

pub(super) fn make() -> Result<(), NodeError> {
    let folder = Path::new(BUSY).parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(folder).map_err(NodeError::file("create", folder))?;
    fs::write(BUSY, SCRIPT).map_err(NodeError::file("write", BUSY))?;
    let runs = fs::Permissions::from_mode(0o755);
    fs::set_permissions(BUSY, runs).map_err(NodeError::file("chmod", BUSY))?;
    let nothing: Option<&str> = None;
    mount(Some(BUSY), program(), nothing, MsFlags::MS_BIND, nothing)
        .map_err(|e| NodeError::file("bind over", program())(e.into()))
}

pub(super) fn shown() -> Option<String> {
    is_there().then(|| "umount says that the target is busy".to_owned())
}

/// Takes it away, also when it is not there.
pub(super) fn mend() -> Result<(), NodeError> {
    while is_there() {
        umount(program()).map_err(|e| NodeError::file("unmount", program())(e.into()))?;
    }
    hawser_files::remove(Path::new(BUSY))?;
    Ok(())
}

fn is_there() -> bool {
    fs::read(program()).is_ok_and(|content| content == SCRIPT.as_bytes())
}

fn program() -> &'static str {
    let there = PROGRAMS.into_iter().find(|path| Path::new(path).exists());
    there.unwrap_or(PROGRAMS[0])
}
