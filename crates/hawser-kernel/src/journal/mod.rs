//! The journal of changes to a host: every change is on the disk before it is made.
//!
//! A change is one file, `FOLDER/NUMBER.json`, written whole and synced before the kernel is told,
//! and removed after the old value is back and no file of Hawser's holds it any more. So whoever
//! comes later (the guard of a killed agent, the next agent, `hawser undo`, a host that has booted
//! again) finds either a change and its undo, or nothing to do.
//!
//! The files that make changes last follow from the entries. [`Journal::recover`] makes them from
//! the entries again, so that a run which was interrupted anywhere, or found its disk full, is healed
//! by the next. Entries are read one by one: one that cannot be read is named, stays as it is, and
//! keeps nobody from the others.

mod entry;
mod folder;
mod guard;
mod owner;
mod persist;
mod undo;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use hawser_files::Expected;
use hawser_model::knob::{Change, Knob, RecordedChanges, Standing, Undone};

use crate::knobs::parts;
use crate::{KernelError, Knobs};
use entry::Entry;
use folder::{Folder, Recorded};

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
    /// Of its own files, entries and configuration.
    expected: Expected,
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
            expected: Expected::OF_ROOT,
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

    /// All changes, oldest first, and the entries that cannot be read.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn changes(&self) -> Result<RecordedChanges, KernelError> {
        let recorded = folder::recorded(&self.folder, self.expected)?;
        Ok(RecordedChanges {
            changes: recorded.entries.into_iter().map(Entry::told).collect(),
            unreadable: recorded.unreadable,
        })
    }

    /// Turns a knob as a trial of `owner`. When that fails the old value is back and the journal
    /// is as before.
    ///
    /// # Errors
    /// The journal cannot be written, the knob cannot be turned, or somebody else tries it now.
    pub fn begin(&self, knob: &Knob, value: &str, owner: &Owner) -> Result<Change, KernelError> {
        let folder = Folder::lock(&self.folder, self.expected)?;
        self.free(&folder, knob, owner)?;
        let setting = self.knobs.read(knob)?;
        let change = Change {
            number: folder.next_number()?,
            knob: knob.clone(),
            scope: setting.scope,
            before: setting.value,
            after: value.to_owned(),
            standing: Standing::Trial,
            persisted_in: None,
            not_persisted: None,
            together: Vec::new(),
        };
        let mut entry = Entry::new(change, owner.clone());
        folder.write(&entry)?;
        let turned = self.set(knob, value).and_then(|after| {
            // The kernel may have rounded; from now on its own word is what is ours.
            entry.change.after = after;
            entry.settled = true;
            folder.write(&entry)
        });
        if let Err(error) = turned {
            self.restore(&entry, &[])?;
            folder.remove(entry.change.number)?;
            return Err(error);
        }
        Ok(entry.change)
    }

    /// Turns a trial's knob to one of its two values.
    ///
    /// # Errors
    /// There is no such change, or the knob cannot be turned.
    pub fn turn(&self, number: u64, to: Arm) -> Result<(), KernelError> {
        let folder = Folder::lock(&self.folder, self.expected)?;
        let entry = folder.entry(number)?;
        let value = match to {
            Arm::Before => &entry.change.before,
            Arm::After => &entry.change.after,
        };
        self.is_ours(&folder, &entry)?;
        self.set(&entry.change.knob, value).map(drop)
    }

    /// Keeps a trial's change and makes it last over a reboot, where this host allows that.
    /// `together` are the ids of the changes that are one with it.
    ///
    /// # Errors
    /// There is no such change, the knob cannot be turned, or the journal cannot be written.
    pub fn keep(&self, number: u64, together: Vec<String>) -> Result<Change, KernelError> {
        let folder = Folder::lock(&self.folder, self.expected)?;
        let mut entry = folder.entry(number)?;
        self.is_ours(&folder, &entry)?;
        self.set(&entry.change.knob, &entry.change.after)?;
        entry.change.standing = Standing::Kept;
        entry.change.together = together;
        match persist::plan(&self.root, &entry.change, self.expected) {
            Ok(path) => entry.change.persisted_in = Some(path.display().to_string()),
            Err(why) => entry.change.not_persisted = Some(why),
        }
        // The file follows from the journal, so the journal comes first.
        folder.write(&entry)?;
        if let Some(path) = entry.change.persisted_in.clone() {
            if let Err(error) = self.write_file(&folder.recorded()?, &path, None) {
                entry.change.persisted_in = None;
                entry.change.not_persisted = Some(error.to_string());
                folder.write(&entry)?;
            }
        }
        Ok(entry.change)
    }

    /// Undoes a change: its value, then its part of a file, then its entry.
    ///
    /// # Errors
    /// There is no such change, the old value cannot be put back, or the file cannot be written; then
    /// the entry stays.
    pub fn undo(&self, number: u64) -> Result<Undone, KernelError> {
        let folder = Folder::lock(&self.folder, self.expected)?;
        let entry = folder.entry(number)?;
        self.undo_entry(&folder, entry)
    }

    /// Undoes what trials have left whose owner is gone, forgets what ended by itself, and makes every file of Hawser's from the
    /// entries again. Called before anything else is changed. A host without a journal is left as it is.
    ///
    /// # Errors
    /// The first thing that could not be done; the others have been.
    pub fn recover(&self) -> Result<Vec<Undone>, KernelError> {
        if !self.folder.exists() {
            return Ok(Vec::new());
        }
        let folder = Folder::lock(&self.folder, self.expected)?;
        let undone = self.undo_where(&folder, |e| e.is_left() || self.has_ended(e));
        self.write_files(&folder)?;
        undone
    }

    /// Undoes the trials of `owner`, which is gone.
    ///
    /// # Errors
    /// The first that could not be undone; the others have been.
    pub fn undo_trials_of(&self, owner: &Owner) -> Result<Vec<Undone>, KernelError> {
        if !self.folder.exists() {
            return Ok(Vec::new());
        }
        let folder = Folder::lock(&self.folder, self.expected)?;
        self.undo_where(&folder, |e| {
            e.change.standing == Standing::Trial && e.owner == *owner
        })
    }

    /// Brings all files of Hawser's in line with the entries.
    fn write_files(&self, folder: &Folder) -> Result<(), KernelError> {
        let recorded = folder.recorded()?;
        let mut paths: BTreeSet<String> = persist::written(&self.root, self.expected)
            .into_iter()
            .map(|path| path.display().to_string())
            .collect();
        let entries = recorded.entries.iter();
        paths.extend(entries.filter_map(|e| e.change.persisted_in.clone()));
        let mut failed = None;
        for path in paths {
            if persist::is_foreign(Path::new(&path), self.expected) {
                continue;
            }
            if let Err(error) = self.write_file(&recorded, &path, None) {
                failed = failed.or(Some(error));
            }
        }
        failed.map_or(Ok(()), Err)
    }

    /// Brings the file at `path` in line with the kept changes that it holds, but for one that is undone.
    fn write_file(
        &self,
        recorded: &Recorded,
        path: &str,
        but: Option<u64>,
    ) -> Result<(), KernelError> {
        let kept = recorded.entries.iter().map(|e| &e.change);
        let its = kept.filter(|c| {
            c.persisted_in.as_deref() == Some(path) && but.is_none_or(|n| n != c.number)
        });
        persist::write(Path::new(path), its, &recorded.lost, self.expected)
    }

    /// That a sysctl has a value that a change knows: what another program has set meanwhile stays. Cards change some of their
    /// settings by themselves.
    fn is_ours(&self, folder: &Folder, entry: &Entry) -> Result<(), KernelError> {
        let knob = &entry.change.knob;
        if !matches!(knob, Knob::Sysctl { .. }) {
            return Ok(());
        }
        let found = self.knobs.read(knob)?.value;
        let recorded = folder.recorded()?.entries;
        let of_knob = recorded
            .iter()
            .map(|it| &it.change)
            .filter(|it| it.knob == *knob);
        let values: Vec<_> = of_knob
            .flat_map(|change| [parts(knob, &change.before), parts(knob, &change.after)])
            .collect();
        let mut all = parts(knob, &found).into_iter();
        match all.all(|(name, part)| values.iter().any(|it| it.get(&name) == Some(&part))) {
            true => Ok(()),
            false => Err(KernelError::Absent(format!(
                "{knob} is {found} now: another program has set it, and it is left so"
            ))),
        }
    }

    /// Turns a knob.
    fn set(&self, knob: &Knob, value: &str) -> Result<String, KernelError> {
        lasting()?;
        self.knobs.write(knob, value)
    }
}

/// Passed before each thing that lasts: here tests interrupt a run.
#[cfg(not(test))]
#[expect(clippy::unnecessary_wraps, reason = "a test makes it fail")]
pub(crate) const fn lasting() -> Result<(), KernelError> {
    Ok(())
}

#[cfg(test)]
pub(crate) use interrupted::lasting;

#[cfg(test)]
mod interrupted;
#[cfg(test)]
mod interruption;
#[cfg(test)]
mod several;
#[cfg(test)]
mod tests;
