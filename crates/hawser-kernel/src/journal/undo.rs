//! What an undo puts back. It touches only what is the change's own, and the value that the host had
//! before Hawser stays in the journal until it is in force again.

use std::path::Path;

use hawser_model::knob::{Knob, Standing, Undone};

use super::entry::Entry;
use super::folder::Folder;
use super::owner::Owner;
use super::{Journal, persist};
use crate::KernelError;
use crate::knobs::{Parts, parts, same, with_parts};

/// What became of a value that was to be put back.
pub(super) enum Back {
    /// It is in force.
    Old,
    /// What had it is gone.
    Gone,
    /// This one is, which a later change or somebody else has set.
    Others(String),
}

impl Journal {
    /// Undoes the trials of a knob whose owner is gone, so that it has the host's own value.
    ///
    /// # Errors
    /// One cannot be undone, or its owner, which is not `owner`, lives.
    pub(super) fn free(
        &self,
        folder: &Folder,
        knob: &Knob,
        owner: &Owner,
    ) -> Result<(), KernelError> {
        for entry in folder.recorded()?.entries.into_iter().rev() {
            let trial = entry.change.standing == Standing::Trial && entry.change.knob == *knob;
            if !trial || entry.owner == *owner {
                continue;
            }
            if entry.owner.lives() {
                return Err(KernelError::Absent(format!(
                    "{knob}: another hawser tries it now (change {})",
                    entry.change.number
                )));
            }
            self.undo_entry(folder, entry)?;
        }
        Ok(())
    }

    pub(super) fn undo_where(
        &self,
        folder: &Folder,
        due: impl Fn(&Entry) -> bool,
    ) -> Result<Vec<Undone>, KernelError> {
        let mut undone = Vec::new();
        let mut failed = None;
        // The last change first: two of one knob come back to the value before the first.
        for entry in folder.recorded()?.entries.into_iter().rev() {
            if due(&entry) {
                match self.undo_entry(folder, entry) {
                    Ok(one) => undone.push(one),
                    Err(error) => failed = failed.or(Some(error)),
                }
            }
        }
        failed.map_or(Ok(undone), Err)
    }

    /// The entry goes last: until then all that is left of the change can be found by it.
    pub(super) fn undo_entry(&self, folder: &Folder, entry: Entry) -> Result<Undone, KernelError> {
        let number = entry.change.number;
        let mut paths: Vec<String> = entry.change.persisted_in.iter().cloned().collect();
        let mut later = self.later(folder, &entry)?;
        // What the next one has found was this one's.
        if let Some(next) = later.first_mut() {
            inherit(next, &entry);
            folder.write(next)?;
            paths.extend(next.change.persisted_in.clone());
        }
        let back = self.restore(&entry, &later)?;
        paths.dedup();
        for path in paths {
            // What somebody has put in its place is his, and holds no part of ours.
            if !persist::is_foreign(Path::new(&path), self.expected) {
                self.write_file(&folder.recorded()?, &path, Some(number))?;
            }
        }
        folder.remove(number)?;
        let (left_at, gone) = match back {
            Back::Old => (None, false),
            Back::Gone => (None, true),
            Back::Others(found) => (Some(found), false),
        };
        Ok(Undone {
            change: entry.change,
            left_at,
            gone,
        })
    }

    /// The later changes of the same knob, the next one first.
    fn later(&self, folder: &Folder, entry: &Entry) -> Result<Vec<Entry>, KernelError> {
        if self.has_ended(entry) {
            return Ok(Vec::new());
        }
        let mut all = folder.recorded()?.entries;
        all.retain(|e| {
            let of_knob = e.change.knob == entry.change.knob;
            of_knob && e.change.number > entry.change.number && !self.has_ended(e)
        });
        Ok(all)
    }

    /// Puts the old value back, but for what `later` changes or somebody else have turned since.
    pub(super) fn restore(&self, entry: &Entry, later: &[Entry]) -> Result<Back, KernelError> {
        let knob = &entry.change.knob;
        if self.has_ended(entry) || self.knobs.has_ended(knob) {
            return Ok(Back::Gone);
        }
        let found = self.knobs.read(knob)?.value;
        let mut back = own(entry, &found);
        for later in later {
            let its = own(later, &found);
            back.retain(|name, _| !its.contains_key(name));
        }
        let wanted = with_parts(knob, &found, &back);
        let now = match same(knob, &found, &wanted) {
            true => found,
            false => self.set(knob, &wanted)?,
        };
        if !same(knob, &now, &wanted) {
            return Err(KernelError::Absent(format!(
                "{knob}: {wanted} was put back, and the kernel made {now} of it"
            )));
        }
        Ok(match same(knob, &now, &entry.change.before) {
            true => Back::Old,
            false => Back::Others(now),
        })
    }

    /// Whether the change ended by itself: with the socket that had it, or, if no file makes it last, with a boot. What is
    /// found after that is the host's own, also if it is the same value.
    pub(super) fn has_ended(&self, entry: &Entry) -> bool {
        let lasts = entry.change.standing == Standing::Kept && entry.change.persisted_in.is_some();
        if !lasts && !entry.owner.of_this_boot() {
            return true;
        }
        // An interface may come back, and a file that makes the change last applies to it again.
        let of_socket = matches!(entry.change.knob, Knob::SocketBuffer { .. });
        of_socket && self.knobs.has_ended(&entry.change.knob)
    }
}

/// Gives a later change the value that is to be put back, where it has found what `earlier` had set.
fn inherit(later: &mut Entry, earlier: &Entry) {
    let before = with_parts(
        &earlier.change.knob,
        &later.change.before,
        &own(earlier, &later.change.before),
    );
    later.change.before = before;
}

/// The parts of a value that the change has set, each with what it was before. A turn may have been ended in the middle, so
/// each part is judged by itself.
fn own<'a>(entry: &'a Entry, value: &'a str) -> Parts<'a> {
    let knob = &entry.change.knob;
    let before = parts(knob, &entry.change.before);
    let after = parts(knob, &entry.change.after);
    // Until the knob was read back, `after` is only what was asked.
    let unsettled = !entry.settled && entry.owner.of_this_boot();
    let set = parts(knob, value).into_iter();
    let set = set.filter(|(name, now)| unsettled || after.get(name) == Some(now));
    set.filter_map(|(name, _)| Some((name, *before.get(&name)?)))
        .collect()
}
