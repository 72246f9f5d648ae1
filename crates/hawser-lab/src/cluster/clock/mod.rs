//! A head's own wall clock. All nodes have the machine's, which a lab must not step, and no namespace has one of its
//! own (`CLONE_NEWTIME` has monotonic and boot time alone, time_namespaces(7)). So a head's services are started with
//! a small library before them, `clock.c`, that adds an offset of the head's to what the kernel says.
//!
//! The offset is 0 from each boot on. Stepping it is one write that all running services see at once.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::error::LabError;
use crate::lab::Lab;

/// Everybody of a head may read it: Pacemaker's daemons are not all root's.
const FOLDER: &str = "/run/hawser/clock";

/// Nanoseconds to add, in the machine's byte order. `build.rs` tells the library.
const OFFSET: &str = env!("HAWSER_CLOCK_OFFSET");

/// The library.
const LIBRARY: &str = "/run/hawser/clock/clock.so";

const LIBRARY_CODE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/clock.so"));

/// A booting head's clock is the machine's.
pub(super) fn set_up() -> Result<(), LabError> {
    let readable = |path: &str, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode))
            .map_err(|e| LabError::io("chmod", path, e))
    };
    fs::create_dir_all(FOLDER).map_err(|e| LabError::io("create the folder", FOLDER, e))?;
    readable(FOLDER, 0o755)?;
    for (path, content) in [(OFFSET, &0_i64.to_ne_bytes()[..]), (LIBRARY, LIBRARY_CODE)] {
        fs::write(path, content).map_err(|e| LabError::io("write", path, e))?;
        readable(path, 0o644)?;
    }
    Ok(())
}

/// What a service, and all that it starts, must have in its environment.
pub(super) fn environment() -> Option<(&'static str, &'static str)> {
    Path::new(LIBRARY)
        .exists()
        .then_some(("LD_PRELOAD", LIBRARY))
}

impl Lab {
    /// Sets by how much the wall clock of a head's services is ahead of this machine's, in nanoseconds.
    ///
    /// # Errors
    /// No such node, it is off, or it is no head.
    pub fn set_clock(&self, head: &str, ahead_ns: i64) -> Result<(), LabError> {
        let path = self.offset(head)?;
        let file = OpenOptions::new().write(true).open(&path);
        file.and_then(|file| file.write_all_at(&ahead_ns.to_ne_bytes(), 0))
            .map_err(|e| LabError::io("write", path, e))
    }

    fn offset(&self, head: &str) -> Result<PathBuf, LabError> {
        let process = self.process(head)?;
        Ok(PathBuf::from(format!("/proc/{process}/root{OFFSET}")))
    }
}

/// Whether a process has the wall clock of its head, by what it has mapped.
///
/// # Errors
/// Its maps cannot be read.
pub fn has_heads_clock(process: i32) -> io::Result<bool> {
    let maps = fs::read_to_string(format!("/proc/{process}/maps"))?;
    Ok(maps.lines().any(|line| line.ends_with(OFFSET)))
}
