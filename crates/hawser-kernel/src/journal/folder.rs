//! The journal's folder: entries written whole and synced, one process at a time.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};

use super::entry::Entry;
use crate::KernelError;

/// The folder, locked until this is dropped. It goes with its last entry.
pub(super) struct Folder {
    path: PathBuf,
    held: Flock<File>,
}

impl Folder {
    /// Makes the folder if need be, and waits until nobody else works in it.
    pub(super) fn lock(path: &Path) -> Result<Self, KernelError> {
        loop {
            fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(path)
                .map_err(failed("create", path))?;
            let file = match File::open(path) {
                Ok(file) => file,
                // Removed by its last user between the two calls.
                Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
                Err(e) => return Err(failed("open", path)(e)),
            };
            let held = Flock::lock(file, FlockArg::LockExclusive)
                .map_err(|(_, errno)| failed("lock", path)(errno.into()))?;
            let same = match (held.metadata(), fs::metadata(path)) {
                (Ok(held), Ok(there)) => (held.dev(), held.ino()) == (there.dev(), there.ino()),
                _ => false,
            };
            if same {
                return Ok(Self {
                    path: path.to_owned(),
                    held,
                });
            }
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn next_number(&self) -> Result<u64, KernelError> {
        let entries = entries(&self.path)?;
        Ok(entries.last().map_or(1, |e| e.change.number + 1))
    }

    pub(super) fn entry(&self, number: u64) -> Result<Entry, KernelError> {
        let mut all = entries(&self.path)?.into_iter();
        all.find(|e| e.change.number == number)
            .ok_or_else(|| KernelError::Absent(format!("there is no change {number}")))
    }

    /// On the disk when this returns.
    pub(super) fn write(&self, entry: &Entry) -> Result<(), KernelError> {
        let path = self.file(entry.change.number);
        let text = serde_json::to_vec_pretty(entry).expect("an entry is always JSON");
        write_whole(&path, &text, 0o600)?;
        self.sync()
    }

    pub(super) fn remove(&self, number: u64) -> Result<(), KernelError> {
        let path = self.file(number);
        fs::remove_file(&path).map_err(failed("remove", &path))?;
        self.sync()
    }

    fn file(&self, number: u64) -> PathBuf {
        self.path.join(format!("{number}.json"))
    }

    fn sync(&self) -> Result<(), KernelError> {
        self.held.sync_all().map_err(failed("fsync", &self.path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Fails while there are entries, as it should. The parent is other parts' too.
        if fs::remove_dir(&self.path).is_ok() {
            if let Some(parent) = self.path.parent() {
                let _not_empty = fs::remove_dir(parent);
            }
        }
    }
}

/// All entries, oldest first; none where there is no folder.
pub(super) fn entries(path: &Path) -> Result<Vec<Entry>, KernelError> {
    let files = match fs::read_dir(path) {
        Ok(files) => files,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(failed("read", path)(e)),
    };
    let mut entries = Vec::new();
    for file in files {
        let file = file.map_err(failed("read", path))?.path();
        if file.extension().is_none_or(|e| e != "json") {
            continue;
        }
        let text = match fs::read(&file) {
            Ok(text) => text,
            // Undone meanwhile.
            Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
            Err(e) => return Err(failed("read", &file)(e)),
        };
        let entry: Entry = serde_json::from_slice(&text).map_err(|e| KernelError::Format {
            path: file.clone(),
            what: e.to_string(),
        })?;
        entries.push(entry);
    }
    entries.sort_by_key(|e| e.change.number);
    Ok(entries)
}

/// Writes a file so that a crash leaves the old one or the new one.
pub(super) fn write_whole(path: &Path, text: &[u8], mode: u32) -> Result<(), KernelError> {
    let new = path.with_extension("new");
    let fail = failed("write", &new);
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(mode)
        .open(&new)
        .map_err(&fail)?;
    file.write_all(text).map_err(&fail)?;
    file.sync_all().map_err(&fail)?;
    fs::rename(&new, path).map_err(failed("rename", path))
}

pub(super) fn failed(call: &'static str, path: &Path) -> impl Fn(io::Error) -> KernelError + use<> {
    let path = path.to_owned();
    move |source| KernelError::File {
        call,
        path: path.clone(),
        source,
    }
}
