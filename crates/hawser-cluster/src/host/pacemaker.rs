//! Pacemaker's own tools.

use std::ffi::OsStr;
use std::fs;
use std::io::{ErrorKind, Write};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::Duration;

use hawser_files::{Existing, FileError, Folder};

use super::{NodeError, run, stored_cib};

/// The user and group that Pacemaker's daemons run as (`CRM_DAEMON_USER`, `CRM_DAEMON_GROUP`).
const OWNER: &str = "hacluster:haclient";

/// Exit status when the CIB that a patch was made for is not the live one any more: `CRM_EX_OLD`,
/// `CRM_EX_DIGEST` and, for a patch that no longer fits, `CRM_EX_ERROR` to `CRM_EX_CONFIG` (Pacemaker's
/// `results.h`).
const NOT_THE_SAME: &[i32] = &[78, 103, 104];

/// Exit status when what is ordered is so already (`CRM_EX_EXISTS`).
const EXISTS: i32 = 108;

/// Exit status when what was waited for did not come (`CRM_EX_TIMEOUT`).
const TIMED_OUT: i32 = 124;

/// The live CIB; `None` when Pacemaker does not answer.
pub(super) fn cib() -> Option<String> {
    run::tool("cibadmin", &["--query"], None).ok()
}

/// Makes the difference of two CIBs to the live one; `false` when that is no longer the first.
pub(super) fn patch(was: &str, new: &str) -> Result<bool, NodeError> {
    let folder = tempfile::tempdir().map_err(NodeError::file("create", "a temporary folder"))?;
    let write = |name: &str, text: &str| -> Result<String, NodeError> {
        let path = folder.path().join(name).display().to_string();
        fs::write(&path, text).map_err(NodeError::file("write", &path))?;
        Ok(path)
    };
    let (was, new) = (write("was", was)?, write("new", new)?);
    let arguments = ["--original", &was, "--new", &new];
    let diff = run::output("crm_diff", &arguments, None)?;
    let text = String::from_utf8_lossy(&diff.stdout).into_owned();
    match diff.status.code() {
        // crm_diff says 0 when there is no difference and 1 when there is one.
        Some(0) => return Ok(true),
        Some(1) if !text.trim().is_empty() => {}
        _ => return Err(run::failed("crm_diff", &["--original", "--new"], &diff)),
    }
    let arguments = ["--patch", "--xml-pipe"];
    let done = run::output("cibadmin", &arguments, Some(&text))?;
    match done.status.code() {
        Some(0) => Ok(true),
        Some(code) if NOT_THE_SAME.contains(&code) => Ok(false),
        _ => {
            let error = run::failed("cibadmin", &arguments, &done);
            let words = error.to_string();
            // Older and newer Pacemakers say it with other codes.
            match words.contains("Application of an update diff failed")
                || words.contains("Update was older than existing configuration")
            {
                true => Ok(false),
                false => Err(error),
            }
        }
    }
}

/// A first CIB, before Pacemaker runs for the first time.
///
/// Without one, the first start waits for Pacemaker's own `dc-deadtime`, 20 s.
pub(super) fn seed(cib: &str) -> Result<(), NodeError> {
    if super::inventory::runs("pacemakerd") {
        return Ok(());
    }
    let name = OsStr::new(stored_cib::NAME);
    let folder = match Folder::open(Path::new(stored_cib::FOLDER)) {
        Ok(there) => there,
        // Pacemaker is not installed; the plan says so.
        Err(e) if e.os().is_some_and(|e| e.kind() == ErrorKind::NotFound) => return Ok(()),
        Err(e) => return Err(e.into()),
    };
    if folder.about(name)?.is_some() {
        return Ok(());
    }
    let fresh = folder.fresh()?;
    let mut file = fresh.file();
    file.write_all(cib.as_bytes())
        .and_then(|()| file.sync_all())
        .map_err(NodeError::file("write", stored_cib::NAME))?;
    // The open file, not a name: the folder is Pacemaker's, and a name there may come to mean another file.
    let open = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
    run::tool("chown", &[OWNER, &open], None)?;
    match fresh.place(name, Existing::Refused) {
        // Pacemaker has been started meanwhile.
        Ok(_) | Err(FileError::Exists { .. }) => Ok(()),
        Err(e) => Err(e.into()),
    }
}

/// Whether Pacemaker had nothing left to do within that time.
pub(super) fn settle(seconds: u32) -> Result<bool, NodeError> {
    let timeout = format!("--timeout={seconds}s");
    let arguments = ["--wait", &timeout];
    // It ends by itself in that time.
    let limit = Duration::from_secs(u64::from(seconds) + 10);
    let output = run::within(limit, "crm_resource", &arguments, None)
        .map_err(run::cannot("crm_resource", &arguments))?;
    match output.status.code() {
        Some(0) => Ok(true),
        Some(TIMED_OUT) => Ok(false),
        _ => Err(run::failed("crm_resource", &arguments, &output)),
    }
}

/// All that the fencer remembers. Without `--verbose` it tells one operation, which in a cluster of several
/// nodes need not be the last.
pub(super) fn fence_history() -> Result<String, NodeError> {
    let arguments = ["--history", "*", "--verbose", "--output-as=xml"];
    run::tool("stonith_admin", &arguments, None)
}

pub(super) fn standby(node: &str, on: bool) -> Result<(), NodeError> {
    let value = if on { "on" } else { "off" };
    let arguments = [
        "--node",
        node,
        "--name",
        "standby",
        "--update",
        value,
        "--lifetime",
        "forever",
    ];
    run::tool("crm_attribute", &arguments, None).map(drop)
}

/// Where it is there already, that is done. The order has an end of its own (an ISO 8601 duration): nobody who
/// gave it need be there to take it back.
pub(super) fn send_to(resource: &str, node: &str, seconds: u64) -> Result<(), NodeError> {
    let lifetime = format!("PT{seconds}S");
    let arguments = [
        "--move",
        "--resource",
        resource,
        "--node",
        node,
        "--lifetime",
        &lifetime,
    ];
    let output = run::output("crm_resource", &arguments, None)?;
    match output.status.code() {
        Some(0 | EXISTS) => Ok(()),
        _ => Err(run::failed("crm_resource", &arguments, &output)),
    }
}

pub(super) fn forget_move(resource: &str) -> Result<(), NodeError> {
    run::tool("crm_resource", &["--clear", "--resource", resource], None).map(drop)
}
