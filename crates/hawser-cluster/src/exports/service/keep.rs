//! What the clients of a pool keep when it is taken over, written to it while it is served: locks of NFS and reservations.
//!
//! A pool that hangs hangs whoever writes to it, `kill -9` or not. So it is asked only when there is something to write, and
//! by a process of its own, as [`storage`](crate::exports::host::storage) does.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hawser_files::{Expected, FileError};
use hawser_model::cluster_file::Backend;
use hawser_tool::{Deadline, Launch};
use sha2::{Digest as _, Sha256};

use super::ServiceError;
use super::here::Here;
use crate::exports::host::{Saved, mounted};
use crate::exports::lio::{backstore, reservations};
use crate::exports::nfs::reclaim;
use crate::hex;

/// The word after `hawser exports` that makes a process one that writes.
pub const WORD: &str = "keep";

/// How long it may take.
const LIMIT: Duration = Duration::from_secs(2);

/// Where it is noted what was written, and what the process says.
const NOTES: &str = "/run/hawser/keep";

/// The time that this may take at most: of the writer, and of whoever is waited for before that (`nfsdcld` may hold its database).
pub const TAKES: Duration = Duration::from_secs(4);

/// Has on a pool that is served here what its clients keep. What is wrong, in words: they lose it if the pool is taken over now, and
/// are served until then.
pub fn keep(pool: &str) -> Option<String> {
    let noted = note(pool, "registered");
    let before = match hawser_files::read(&noted, Expected::OF_ROOT) {
        Ok(before) => before.unwrap_or_default(),
        Err(error) => return Some(error.to_string()),
    };
    let registered = match due(&Here::default(), pool, &before) {
        Ok(Some(due)) => due,
        Ok(None) => return None,
        Err(error) => return Some(error.to_string()),
    };
    let said = note(pool, "said");
    let failed = |what: String| Some(format!("what clients keep is not on pool {pool}: {what}"));
    let mut writer = match writer(pool, &said) {
        Ok(writer) => writer,
        Err(what) => return failed(what),
    };
    let ended = Deadline::after(LIMIT).ask(Duration::from_millis(5), || writer.try_wait());
    match ended {
        Ok(Some(ended)) if ended.success() => {
            let written = hawser_files::replace(&noted, registered.as_bytes(), 0o600);
            written.err().map(|error| error.to_string())
        }
        Ok(Some(_)) => {
            let why = hawser_files::read(&said, Expected::OF_ROOT).ok().flatten();
            failed(
                String::from_utf8_lossy(&why.unwrap_or_default())
                    .trim()
                    .to_owned(),
            )
        }
        Ok(None) => {
            let _it_may_never_end = writer.kill();
            failed(format!("it does not answer within {} s", LIMIT.as_secs()))
        }
        Err(error) => failed(error.to_string()),
    }
}

/// The process that writes, and what it ends with.
///
/// # Errors
/// The pool cannot be written, or the NFS server's list of clients not be read.
pub fn write(pool: &str) -> Result<(), ServiceError> {
    let Some(saved) = Saved::read(pool)? else {
        return Ok(());
    };
    let root = &saved.parameters.root;
    let mount = mounted(root).map_err(FileError::io("look at the mounts at", root))?;
    if mount.is_none() {
        let (pool, root) = (pool.to_owned(), root.display().to_string());
        return Err(ServiceError::NotMounted { pool, root });
    }
    reservations::flush(root, saved.desired.units.keys())?;
    Ok(reclaim::remember(&saved.parameters, &saved.desired)?)
}

/// Forgets what was written to a pool that has left.
pub fn forget(pool: &str) {
    for what in ["registered", "said"] {
        let _unread = hawser_files::remove(&note(pool, what));
    }
}

/// What is registered of the units of a pool that is served, to be noted once it is written, if there is something to write. `before`
/// is what was noted last. The pool is not asked.
pub(super) fn due(here: &Here, pool: &str, before: &[u8]) -> Result<Option<String>, ServiceError> {
    // What a start that did not end well may have made is no reason to forget who was a client before.
    let saved = Saved::read_in(&here.folder, pool)?;
    let Some(saved) = saved.filter(|saved| saved.before.is_empty()) else {
        return Ok(None);
    };
    let mut registered = String::new();
    let units = saved.desired.units.iter();
    for (serial, unit) in units.filter(|_| saved.parameters.backend == Backend::Lio) {
        if let Some(told) = here.configfs.registered(&backstore(pool, serial, unit))? {
            let digest = hex::digits(&Sha256::digest(told));
            registered += &format!("{serial} {digest}\n");
        }
    }
    let is_due = before != registered.as_bytes()
        || reclaim::news(&saved.parameters, &saved.desired)?.is_some();
    Ok(is_due.then_some(registered))
}

fn writer(pool: &str, said: &Path) -> Result<std::process::Child, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    fs::create_dir_all(NOTES).map_err(|error| error.to_string())?;
    let log = fs::File::create(said).map_err(|error| error.to_string())?;
    let writer = Launch::new(own)
        .args(["exports", WORD, pool])
        .folder("/")
        .log(log);
    writer.daemon().map_err(|error| error.to_string())
}

fn note(pool: &str, what: &str) -> PathBuf {
    Path::new(NOTES).join(format!("{pool}.{what}"))
}
