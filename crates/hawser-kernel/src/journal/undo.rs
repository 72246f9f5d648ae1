//! What an undo puts back: only what is the change's own.

use std::path::Path;

use hawser_model::knob::{Knob, Undone};

use super::entry::Entry;
use super::folder::Folder;
use super::{Journal, persist};
use crate::KernelError;
use crate::knobs::{Parts, parts, same, with_parts};

/// What became of a value that was to be put back.
pub(super) enum Back {
    /// It is in force.
    Old,
    /// What had it is gone.
    Gone,
    /// This one is, which somebody else has set.
    Others(String),
}

impl Journal {
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
        let back = self.restore(&entry)?;
        if let Some(path) = &entry.change.persisted_in {
            // What somebody has put in its place is his, and holds no part of ours.
            if !persist::is_foreign(Path::new(path), self.expected) {
                self.write_file(&folder.recorded()?, path, Some(number))?;
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

    /// Puts the old value back, but for what somebody else has turned since.
    pub(super) fn restore(&self, entry: &Entry) -> Result<Back, KernelError> {
        let knob = &entry.change.knob;
        if self.has_ended(entry) {
            return Ok(Back::Gone);
        }
        let found = self.knobs.read(knob)?.value;
        let wanted = with_parts(knob, &found, &own(entry, &found));
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

    /// Whether the change ended by itself, with the socket that had it: after a boot a number may be another socket's.
    pub(super) fn has_ended(&self, entry: &Entry) -> bool {
        let of_socket = matches!(entry.change.knob, Knob::SocketBuffer { .. });
        of_socket && (!entry.owner.of_this_boot() || self.knobs.has_ended(&entry.change.knob))
    }
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
