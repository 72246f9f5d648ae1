//! The journal's folder: entries written whole and synced, one process at a time, and read one by one.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use hawser_files::Expected;
use nix::fcntl::{Flock, FlockArg};

use super::entry::Entry;
use super::lasting;
use crate::KernelError;

/// The folder, locked until this is dropped. It goes with its last entry.
pub(super) struct Folder {
    path: PathBuf,
    open: hawser_files::Folder,
    expected: Expected,
    _held: Flock<File>,
}

/// What is in the folder.
#[derive(Default)]
pub(super) struct Recorded {
    /// Oldest first.
    pub(super) entries: Vec<Entry>,
    /// In words, each with its file.
    pub(super) unreadable: Vec<String>,
    /// The numbers of those that cannot be read.
    pub(super) lost: BTreeSet<u64>,
}

impl Folder {
    /// Makes the folder if need be, and waits until nobody else works in it. Its entries are as `expected`.
    pub(super) fn lock(path: &Path, expected: Expected) -> Result<Self, KernelError> {
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
            let open = match hawser_files::Folder::open(path) {
                Ok(open) => open,
                Err(e) if absent(&e) => continue,
                Err(e) => return Err(e.into()),
            };
            let about = held.metadata().map_err(failed("stat", path))?;
            let there = open.metadata()?;
            if (about.dev(), about.ino()) == (there.dev(), there.ino()) {
                return Ok(Self {
                    path: path.to_owned(),
                    open,
                    expected,
                    _held: held,
                });
            }
        }
    }

    pub(super) fn recorded(&self) -> Result<Recorded, KernelError> {
        read(&self.open, self.expected)
    }

    /// No file has it or a higher one, also if it cannot be read.
    pub(super) fn next_number(&self) -> Result<u64, KernelError> {
        let names = self.open.names()?;
        let last = names.iter().filter_map(|name| number(name)).max();
        Ok(last.map_or(1, |last| last + 1))
    }

    pub(super) fn entry(&self, number: u64) -> Result<Entry, KernelError> {
        let name = name(number);
        let text = self.open.read(name.as_ref(), self.expected)?;
        let text =
            text.ok_or_else(|| KernelError::Absent(format!("there is no change {number}")))?;
        Entry::parse(&text, number).map_err(|what| KernelError::Format {
            path: self.path.join(name),
            what,
        })
    }

    /// On the disk when this returns.
    pub(super) fn write(&self, entry: &Entry) -> Result<(), KernelError> {
        lasting()?;
        let name = name(entry.change.number);
        Ok(self.open.replace(name.as_ref(), &entry.to_text(), 0o600)?)
    }

    /// Off the disk when this returns.
    pub(super) fn remove(&self, number: u64) -> Result<(), KernelError> {
        lasting()?;
        self.open.remove(name(number).as_ref())?;
        Ok(self.open.sync()?)
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

/// All that is recorded; nothing where there is no folder.
pub(super) fn recorded(path: &Path, expected: Expected) -> Result<Recorded, KernelError> {
    match hawser_files::Folder::open(path) {
        Ok(open) => read(&open, expected),
        Err(e) if absent(&e) => Ok(Recorded::default()),
        Err(e) => Err(e.into()),
    }
}

fn read(folder: &hawser_files::Folder, expected: Expected) -> Result<Recorded, KernelError> {
    let mut recorded = Recorded::default();
    let mut names = folder.names()?;
    names.retain(|name| Path::new(name).extension().is_some_and(|e| e == "json"));
    names.sort_by_key(|name| (number(name), name.clone()));
    for name in names {
        let entry = match (number(&name), folder.read(&name, expected)) {
            // Undone meanwhile.
            (_, Ok(None)) => continue,
            (Some(number), Ok(Some(text))) => Entry::parse(&text, number),
            (None, Ok(Some(_))) => Err("no entry has such a name".to_owned()),
            (_, Err(error)) => Err(error.to_string()),
        };
        match entry {
            Ok(entry) => recorded.entries.push(entry),
            Err(why) => {
                let path = folder.path().join(&name);
                recorded
                    .unreadable
                    .push(format!("{}: {why}", path.display()));
                recorded.lost.extend(number(&name));
            }
        }
    }
    Ok(recorded)
}

fn name(number: u64) -> String {
    format!("{number}.json")
}

/// Of the entry in a file of that name.
fn number(name: &OsStr) -> Option<u64> {
    name.to_str()?.strip_suffix(".json")?.parse().ok()
}

fn absent(error: &hawser_files::FileError) -> bool {
    error
        .os()
        .is_some_and(|e| e.kind() == io::ErrorKind::NotFound)
}

pub(super) fn failed(call: &'static str, path: &Path) -> impl Fn(io::Error) -> KernelError + use<> {
    let path = path.to_owned();
    move |source| KernelError::File {
        call,
        path: path.clone(),
        source,
    }
}
