//! The journal of changes to a host: every change is on the disk before it is made.
//!
//! A change is one file, `FOLDER/NUMBER.json`, written whole and synced before the kernel is told,
//! and removed after the old value is back. So whoever comes later (the guard of a killed agent,
//! the next agent, `hawser undo`, a host that has booted again) finds either a change and its
//! undo, or nothing to do.

mod entry;
mod folder;
mod guard;
mod owner;
mod persist;

use std::path::{Path, PathBuf};

use hawser_model::knob::{Change, Knob, Standing, Undone};

use crate::knobs::same;
use crate::{KernelError, Knobs};
use entry::Entry;
use folder::Folder;

pub use guard::watch;
pub use owner::Owner;

/// One of the two values of a change, to turn to and fro in a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arm {
    /// The value before.
    Before,
    /// The value after.
    After,
}

/// The journal of a host and the knobs it turns.
#[derive(Clone, Debug)]
pub struct Journal {
    folder: PathBuf,
    root: PathBuf,
    knobs: Knobs,
}

impl Journal {
    /// Where a host has its journal.
    pub const FOLDER: &str = "/var/lib/hawser/changes";

    /// The journal in `folder`, of a host whose files are below `root` (`/`).
    pub fn new(folder: impl Into<PathBuf>, root: impl Into<PathBuf>, knobs: Knobs) -> Self {
        Self {
            folder: folder.into(),
            root: root.into(),
            knobs,
        }
    }

    /// Where it lies.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The knobs it turns.
    pub fn knobs(&self) -> &Knobs {
        &self.knobs
    }

    /// All changes, oldest first.
    ///
    /// # Errors
    /// A file that cannot be read, or is not an entry.
    pub fn changes(&self) -> Result<Vec<Change>, KernelError> {
        let entries = folder::entries(&self.folder)?;
        Ok(entries.into_iter().map(|e| e.change).collect())
    }

    /// Turns a knob as a trial of `owner`. When that fails the old value is back and the journal
    /// is as before.
    ///
    /// # Errors
    /// The journal cannot be written, or the knob cannot be turned.
    pub fn begin(&self, knob: &Knob, value: &str, owner: &Owner) -> Result<Change, KernelError> {
        let folder = Folder::lock(&self.folder)?;
        let setting = self.knobs.read(knob)?;
        let mut entry = Entry {
            change: Change {
                number: folder.next_number()?,
                knob: knob.clone(),
                scope: setting.scope,
                before: setting.value,
                after: value.to_owned(),
                standing: Standing::Trial,
                persisted_in: None,
                not_persisted: None,
                together: Vec::new(),
            },
            owner: owner.clone(),
            settled: false,
        };
        folder.write(&entry)?;
        match self.knobs.write(knob, value) {
            Ok(after) => {
                // The kernel may have rounded; from now on its own word is what is ours.
                entry.change.after = after;
                entry.settled = true;
                folder.write(&entry)?;
                Ok(entry.change)
            }
            Err(error) => {
                self.restore(&entry)?;
                folder.remove(entry.change.number)?;
                Err(error)
            }
        }
    }

    /// Turns a trial's knob to one of its two values.
    ///
    /// # Errors
    /// There is no such change, or the knob cannot be turned.
    pub fn turn(&self, number: u64, to: Arm) -> Result<(), KernelError> {
        let folder = Folder::lock(&self.folder)?;
        let entry = folder.entry(number)?;
        let value = match to {
            Arm::Before => &entry.change.before,
            Arm::After => &entry.change.after,
        };
        self.knobs.write(&entry.change.knob, value).map(|_| ())
    }

    /// Keeps a trial's change and makes it last over a reboot, where this host allows that.
    /// `together` are the ids of the changes that are one with it.
    ///
    /// # Errors
    /// There is no such change, the knob cannot be turned, or the journal cannot be written.
    pub fn keep(&self, number: u64, together: Vec<String>) -> Result<Change, KernelError> {
        let folder = Folder::lock(&self.folder)?;
        let mut entry = folder.entry(number)?;
        self.knobs.write(&entry.change.knob, &entry.change.after)?;
        entry.change.standing = Standing::Kept;
        entry.change.together = together;
        match persist::plan(&self.root, &entry.change) {
            Ok(path) => entry.change.persisted_in = Some(path.display().to_string()),
            Err(why) => entry.change.not_persisted = Some(why),
        }
        // The file follows from the journal, so the journal comes first.
        folder.write(&entry)?;
        if let Some(path) = entry.change.persisted_in.clone() {
            if let Err(error) = write_file(&folder, &path) {
                entry.change.persisted_in = None;
                entry.change.not_persisted = Some(error.to_string());
                folder.write(&entry)?;
            }
        }
        Ok(entry.change)
    }

    /// Undoes a change: its value, its part of a file, its entry.
    ///
    /// # Errors
    /// There is no such change, or the old value cannot be put back; then the entry stays.
    pub fn undo(&self, number: u64) -> Result<Undone, KernelError> {
        let folder = Folder::lock(&self.folder)?;
        let entry = folder.entry(number)?;
        self.undo_entry(&folder, entry)
    }

    /// Undoes what trials have left whose owner is gone. Called before anything else is changed.
    ///
    /// # Errors
    /// The first that could not be undone; the others have been.
    pub fn recover(&self) -> Result<Vec<Undone>, KernelError> {
        self.undo_where(|e| e.change.standing == Standing::Trial && !e.owner.lives())
    }

    /// Undoes the trials of `owner`, which is gone.
    ///
    /// # Errors
    /// As [`Self::recover`].
    pub fn undo_trials_of(&self, owner: &Owner) -> Result<Vec<Undone>, KernelError> {
        self.undo_where(|e| e.change.standing == Standing::Trial && e.owner == *owner)
    }

    fn undo_where(&self, due: impl Fn(&Entry) -> bool) -> Result<Vec<Undone>, KernelError> {
        if !self.folder.exists() {
            return Ok(Vec::new());
        }
        let folder = Folder::lock(&self.folder)?;
        let mut undone = Vec::new();
        let mut failed = None;
        // The last change first: two of one knob come back to the value before the first.
        for entry in folder::entries(&self.folder)?.into_iter().rev() {
            if due(&entry) {
                match self.undo_entry(&folder, entry) {
                    Ok(one) => undone.push(one),
                    Err(error) => failed = Some(error),
                }
            }
        }
        failed.map_or(Ok(undone), Err)
    }

    fn undo_entry(&self, folder: &Folder, entry: Entry) -> Result<Undone, KernelError> {
        let left_at = self.restore(&entry)?;
        folder.remove(entry.change.number)?;
        if let Some(path) = &entry.change.persisted_in {
            write_file(folder, path)?;
        }
        Ok(Undone {
            change: entry.change,
            left_at,
        })
    }

    /// Puts the old value back, unless somebody else has turned the knob since: then answers
    /// what was found.
    fn restore(&self, entry: &Entry) -> Result<Option<String>, KernelError> {
        let change = &entry.change;
        // A boot brings the host's own values back by itself, so what is found then is not ours
        // unless it is the very value that was persisted.
        let found = self.knobs.read(&change.knob)?.value;
        if same(&change.knob, &found, &change.before) {
            return Ok(None);
        }
        let ours = same(&change.knob, &found, &change.after)
            || (!entry.settled && entry.owner.of_this_boot());
        if !ours {
            return Ok(Some(found));
        }
        let now = self.knobs.write(&change.knob, &change.before)?;
        if !same(&change.knob, &now, &change.before) {
            return Err(KernelError::Absent(format!(
                "{}: {} was put back, and the kernel made {now} of it",
                change.knob, change.before
            )));
        }
        Ok(None)
    }
}

/// Brings the file at `path` in line with the kept changes that it holds.
fn write_file(folder: &Folder, path: &str) -> Result<(), KernelError> {
    let entries = folder::entries(folder.path())?;
    let kept = entries.iter().map(|e| &e.change);
    let its = kept.filter(|c| c.persisted_in.as_deref() == Some(path));
    persist::write(Path::new(path), its)
}

#[cfg(test)]
mod tests;
