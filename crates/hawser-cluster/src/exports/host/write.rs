//! Files that are there as a whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// A file that could not be written.
#[derive(Debug, thiserror::Error)]
#[error("{call} {path}: {source}")]
pub struct WriteError {
    call: &'static str,
    path: String,
    source: std::io::Error,
}

/// Writes a file of this mode beside the old one, makes sure that it is on the disk, and puts it in
/// the old one's place: a power cut leaves the old or the new one.
pub fn whole(path: &Path, text: &str, mode: u32) -> Result<(), WriteError> {
    let failed = |call, path: &Path| {
        let path = path.display().to_string();
        move |source| WriteError { call, path, source }
    };
    let folder = path.parent().unwrap_or(Path::new("/"));
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let new = folder.join(name);
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(mode)
        .open(&new)
        .map_err(failed("create", &new))?;
    file.write_all(text.as_bytes())
        .and_then(|()| file.sync_all())
        .map_err(failed("write", &new))?;
    fs::rename(&new, path).map_err(failed("rename a new file to", path))?;
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(failed("sync", folder))
}
