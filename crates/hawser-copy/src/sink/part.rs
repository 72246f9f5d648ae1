//! The file that a copy writes until it is complete, beside its destination.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::{File, Permissions};
use std::os::unix::fs::{FileExt, PermissionsExt};

use hawser_files::{Existing, FileError};
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg, PosixFadviseAdvice, posix_fadvise};
use twox_hash::xxhash3_128::Hasher;

use super::destination::Named;
use crate::error::CopyError;
use crate::plan::Blocks;
use crate::state::State;

/// A part that is ours alone, locked as long as the copy runs.
pub(super) struct Part {
    to: Named,
    name: OsString,
    state_name: OsString,
    state: Option<State>,
    _lock: Flock<File>,
}

/// The mode of a part: nobody else reads or writes it.
const PART: u32 = 0o600;

impl Part {
    /// Its path, for errors.
    pub(super) fn shown(&self) -> String {
        self.to.folder.path().join(&self.name).display().to_string()
    }

    /// Opens the part of an earlier run, or a new one, as long as the source; gives the blocks that are
    /// in it, read again. `resumable` says that blocks have checksums, `stops` that the copy is to end.
    pub(super) fn open(
        to: Named,
        size: u64,
        resumable: bool,
        stops: &dyn Fn() -> bool,
    ) -> Result<(Self, File, HashMap<u64, u128>), CopyError> {
        // Somebody may have put something there since it was looked at.
        to.free()?;
        let (name, state_name) = (to.beside("part"), to.beside("state"));
        let shown = to.folder.path().join(&name).display().to_string();
        let file = match to.folder.own(&name)? {
            Some(file) => file,
            None => to.folder.create(&name)?,
        };
        let lock = locked(&to, &name, &file)?;
        let blocks = Blocks::of(size);
        let mut have = match resumable {
            true if on_disk(&file) => State::read(&to.folder, &state_name, blocks)?,
            _ => HashMap::new(),
        };
        have.retain(|&index, digest| {
            let (start, end) = blocks.range(index);
            !stops() && digest_of(&file, start, end).is_ok_and(|found| found == *digest)
        });
        if stops() {
            return Err(CopyError::Stopped);
        }
        if have.is_empty() {
            file.set_len(0)
                .map_err(CopyError::file("truncate", &shown))?;
        }
        file.set_len(size)
            .map_err(CopyError::file("truncate", &shown))?;
        let state = match resumable {
            true => Some(State::create(&to.folder, &state_name, blocks, &have)?),
            false => None,
        };
        let part = Self {
            to,
            name,
            state_name,
            state,
            _lock: lock,
        };
        Ok((part, file, have))
    }

    /// Notes that a block is complete.
    pub(super) fn note(&self, index: u64, digest: u128) -> Result<(), CopyError> {
        self.state
            .as_ref()
            .map_or(Ok(()), |state| state.note(index, digest))
    }

    /// Everything is in `file`: to the disk with it, and into its place unless it `stops`.
    pub(super) fn commit(
        &self,
        file: &File,
        mode: Option<u32>,
        stops: &dyn Fn() -> bool,
    ) -> Result<(), CopyError> {
        let chmod = |mode| {
            let done = file.set_permissions(Permissions::from_mode(mode));
            done.map_err(CopyError::file("chmod", &self.shown()))
        };
        let sync = || {
            file.sync_all().map_err(|source| {
                // The kernel takes the pages for written now (fsync(2)): a run that goes on from them would not write them again.
                self.remove();
                let path = self.to.path().display().to_string();
                CopyError::NotDurable { path, source }
            })
        };
        sync()?;
        // It may have taken minutes.
        if stops() {
            return Err(CopyError::Stopped);
        }
        // A part that others may write to is none to go on from, so it has its mode last.
        if let Some(mode) = mode {
            chmod(mode)?;
            sync()?;
        }
        let place = match self.to.replace {
            true => Existing::Replaced,
            false => Existing::Refused,
        };
        let folder = &self.to.folder;
        match folder.rename(file, &self.name, &self.to.name, place) {
            Err(FileError::Exists { path }) => {
                chmod(PART)?;
                return Err(CopyError::Exists(path.display().to_string()));
            }
            outcome => outcome?,
        }
        if self.state.is_some() {
            // It names a file that is no more; the next copy begins a new one.
            let _ = folder.remove(&self.state_name);
        }
        Ok(())
    }

    /// The copy failed. What can be resumed stays, anything else goes.
    pub(super) fn give_up(&self, complete_blocks: usize) {
        if self.state.is_some() && complete_blocks > 0 {
            return;
        }
        self.remove();
    }

    /// The error that brought us here is the one to report.
    fn remove(&self) {
        let _ = self.to.folder.remove(&self.name);
        if self.state.is_some() {
            let _ = self.to.folder.remove(&self.state_name);
        }
    }
}

/// Takes the part for this copy alone.
///
/// Another copy may have renamed the part into its place after it was opened here: then the lock is on
/// the finished destination, and this copy must not write to it.
fn locked(to: &Named, name: &OsStr, file: &File) -> Result<Flock<File>, CopyError> {
    let shown = to.folder.path().join(name).display().to_string();
    let busy = || CopyError::Busy(to.path().display().to_string());
    let lock = file.try_clone().map_err(CopyError::file("dup", &shown))?;
    let lock =
        Flock::lock(lock, FlockArg::LockExclusiveNonblock).map_err(|(_, error)| match error {
            Errno::EWOULDBLOCK => busy(),
            error => CopyError::file("flock", &shown)(error),
        })?;
    match to.folder.is(file, name) {
        Err(FileError::Exchanged { .. }) => Err(busy()),
        outcome => Ok(outcome.map(|()| lock)?),
    }
}

/// Whether all that was written of a file is on its disk, so far as the kernel tells; what is read from now on comes from there.
fn on_disk(file: &File) -> bool {
    // An error of an earlier run's pages is told to the first who syncs after it (errseq_t), and the pages stay.
    let synced = file.sync_all().is_ok();
    // Refused where pages are not kept.
    let _ = posix_fadvise(file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED);
    synced
}

/// The checksum of a stretch of a file.
fn digest_of(file: &File, mut at: u64, end: u64) -> std::io::Result<u128> {
    let mut hasher = Hasher::new();
    let mut buffer = vec![0; 1 << 18];
    while at < end {
        let part = (end - at).min(buffer.len() as u64) as usize;
        file.read_exact_at(&mut buffer[..part], at)?;
        hasher.write(&buffer[..part]);
        at += part as u64;
    }
    Ok(hasher.finish_128())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use hawser_files::Folder;

    use super::*;

    fn to(folder: &std::path::Path) -> Named {
        Named {
            folder: Folder::open(folder).unwrap(),
            name: "image".into(),
            replace: true,
        }
    }

    /// A part of four bytes, with checksums.
    fn open(folder: &std::path::Path) -> Result<(Part, File, HashMap<u64, u128>), CopyError> {
        Part::open(to(folder), 4, true, &|| false)
    }

    #[test]
    fn nothing_is_kept_of_what_could_not_be_synced() {
        let folder = tempfile::tempdir().unwrap();
        let (part, file, _) = open(folder.path()).unwrap();
        file.write_all_at(b"data", 0).unwrap();
        part.note(0, digest_of(&file, 0, 4).unwrap()).unwrap();
        // A pipe refuses fsync(2), as a disk that is full or gone may.
        let (pipe, _) = nix::unistd::pipe().unwrap();
        let error = part.commit(&pipe.into(), None, &|| false).unwrap_err();
        assert!(matches!(error, CopyError::NotDurable { .. }), "{error}");
        part.give_up(1);
        drop((part, file));
        let (_, _, have) = open(folder.path()).unwrap();
        assert_eq!(have, HashMap::new());
    }

    #[test]
    fn a_copy_that_is_stopped_while_it_syncs_is_not_put_in_place_and_goes_on_later() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("image"), "old").unwrap();
        let (part, file, _) = open(folder.path()).unwrap();
        file.write_all_at(b"data", 0).unwrap();
        part.note(0, digest_of(&file, 0, 4).unwrap()).unwrap();
        let stopped = part.commit(&file, Some(0o664), &|| true);
        assert!(matches!(stopped, Err(CopyError::Stopped)));
        part.give_up(1);
        drop((part, file));
        assert_eq!(fs::read(folder.path().join("image")).unwrap(), b"old");
        let stopped = Part::open(to(folder.path()), 4, true, &|| true);
        assert!(matches!(stopped, Err(CopyError::Stopped)));
        let (_, _, have) = open(folder.path()).unwrap();
        assert_eq!(have.len(), 1);
    }

    #[test]
    fn a_part_that_became_the_destination_is_not_written_again() {
        let folder = tempfile::tempdir().unwrap();
        let (first, file, _) = open(folder.path()).unwrap();
        file.write_all_at(b"data", 0).unwrap();
        // A second copy opens the part, and gets on only after the first is done.
        let second = to(folder.path());
        let name = second.beside("part");
        let opened = second.folder.own(&name).unwrap().unwrap();
        first.commit(&file, Some(0o600), &|| false).unwrap();
        drop((first, file));
        let refused = locked(&second, &name, &opened);
        assert!(matches!(refused, Err(CopyError::Busy(_))));
        assert_eq!(fs::read(folder.path().join("image")).unwrap(), b"data");
    }

    #[test]
    fn a_second_copy_waits_for_no_lock() {
        let folder = tempfile::tempdir().unwrap();
        let (_first, _file, _) = open(folder.path()).unwrap();
        let refused = open(folder.path());
        assert!(matches!(refused, Err(CopyError::Busy(_))));
    }
}
