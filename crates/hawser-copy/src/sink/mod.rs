//! Where the bytes go.

mod destination;
mod part;

use std::collections::HashMap;
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use nix::errno::Errno;
use nix::fcntl::{FallocateFlags, fallocate};

use crate::error::CopyError;
use crate::message::Offer;
use crate::source::kind_word;
use crate::storage::{self, Opened};
use part::Part;

pub(crate) use destination::Destination;

/// Zeros are written in pieces of this size where a device cannot zero a range by itself.
const ZEROS: usize = 1 << 20;

/// An open destination.
pub(crate) struct Sink {
    file: File,
    shown: String,
    kind: Kind,
    /// Nothing was written yet: a hole is there already.
    fresh: AtomicBool,
}

enum Kind {
    Discard,
    Scratch(Opened),
    Device,
    Part(Part),
}

impl Sink {
    /// Opens the place for what is offered; gives what an earlier run left there, read again.
    ///
    /// `resumable` says that blocks have checksums, `stops` that the copy is to end.
    pub(crate) fn open(
        place: Destination,
        offer: Offer,
        resumable: bool,
        stops: &dyn Fn() -> bool,
    ) -> Result<(Self, HashMap<u64, u128>), CopyError> {
        match place {
            Destination::Discard => {
                let path = Path::new("/dev/null");
                let sink = Self::plain(path, 0, Kind::Discard)?;
                Ok((sink, HashMap::new()))
            }
            Destination::Scratch(storage) => {
                let opened = storage::sink(&storage)?;
                // The file of a sink that has one of its own is not used.
                let path = Path::new("/dev/null");
                let sink = Self::plain(path, 0, Kind::Scratch(opened))?;
                Ok((sink, HashMap::new()))
            }
            Destination::Device(path) => {
                // A device that is mounted, or otherwise in use, says EBUSY.
                let flags = libc::O_EXCL | libc::O_NOFOLLOW;
                let mut sink = Self::plain(&path, flags, Kind::Device)?;
                let about = sink.file.metadata();
                let kind = about.map_err(CopyError::file("fstat", &sink.shown))?;
                if !kind.file_type().is_block_device() {
                    return Err(CopyError::Kind {
                        path: sink.shown,
                        kind: kind_word(kind.file_type()),
                        allowed: "a block device, as it was a moment ago,",
                        direction: "to",
                    });
                }
                let room = sink
                    .file
                    .seek(SeekFrom::End(0))
                    .map_err(CopyError::file("lseek end of", &sink.shown))?;
                if room < offer.size {
                    return Err(CopyError::TooSmall {
                        path: sink.shown,
                        room,
                        size: offer.size,
                    });
                }
                sink.fresh = AtomicBool::new(false);
                Ok((sink, HashMap::new()))
            }
            Destination::File(named) => {
                let (part, file, have) = Part::open(named, offer.size, resumable, stops)?;
                let shown = part.shown();
                let sink = Self {
                    file,
                    shown,
                    kind: Kind::Part(part),
                    fresh: AtomicBool::new(have.is_empty()),
                };
                Ok((sink, have))
            }
        }
    }

    fn plain(path: &Path, flags: i32, kind: Kind) -> Result<Self, CopyError> {
        let shown = path.display().to_string();
        let file = File::options()
            .write(true)
            .custom_flags(flags)
            .open(path)
            .map_err(CopyError::file("open", &shown))?;
        Ok(Self {
            file,
            shown,
            kind,
            fresh: AtomicBool::new(true),
        })
    }

    /// Whether what is written is thrown away.
    pub(crate) fn discards(&self) -> bool {
        matches!(self.kind, Kind::Discard)
    }

    /// The file, for `splice`.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// What it is called in errors.
    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }

    pub(crate) fn write(&self, data: &[u8], at: u64) -> Result<(), CopyError> {
        match &self.kind {
            Kind::Discard => return Ok(()),
            Kind::Scratch(opened) => return opened.write(data, at).map(|_| ()),
            Kind::Device | Kind::Part(_) => {}
        }
        self.file
            .write_all_at(data, at)
            .map_err(CopyError::file("write", &self.shown))
    }

    /// Makes a hole, or zeros where there can be none.
    pub(crate) fn hole(&self, at: u64, length: u64) -> Result<(), CopyError> {
        if self.discards() || self.fresh.load(Relaxed) || length == 0 {
            return Ok(());
        }
        let how = match self.kind {
            Kind::Device => FallocateFlags::FALLOC_FL_ZERO_RANGE,
            _ => FallocateFlags::FALLOC_FL_PUNCH_HOLE,
        };
        let flags = how | FallocateFlags::FALLOC_FL_KEEP_SIZE;
        match fallocate(&self.file, flags, at as i64, length as i64) {
            Ok(()) => Ok(()),
            // Devices want whole sectors; some file systems have no holes.
            Err(Errno::EOPNOTSUPP | Errno::EINVAL | Errno::ENOSYS) => self.zeros(at, length),
            Err(error) => Err(CopyError::file("fallocate", &self.shown)(error)),
        }
    }

    fn zeros(&self, mut at: u64, mut length: u64) -> Result<(), CopyError> {
        let zeros = vec![0; ZEROS];
        while length > 0 {
            let part = length.min(ZEROS as u64);
            self.write(&zeros[..part as usize], at)?;
            at += part;
            length -= part;
        }
        Ok(())
    }

    /// Notes that a block is complete.
    pub(crate) fn note(&self, index: u64, digest: u128) -> Result<(), CopyError> {
        match &self.kind {
            Kind::Part(part) => part.note(index, digest),
            _ => Ok(()),
        }
    }

    /// Everything is there: to the disk with it, and into its place unless it `stops`.
    pub(crate) fn commit(
        &self,
        mode: Option<u32>,
        stops: &dyn Fn() -> bool,
    ) -> Result<(), CopyError> {
        match &self.kind {
            Kind::Discard | Kind::Scratch(_) => Ok(()),
            Kind::Device => self
                .file
                .sync_all()
                .map_err(CopyError::file("fsync", &self.shown)),
            Kind::Part(part) => part.commit(&self.file, mode, stops),
        }
    }

    /// The copy failed. What can be resumed stays, anything else goes.
    pub(crate) fn give_up(&self, complete_blocks: usize) {
        if let Kind::Part(part) = &self.kind {
            part.give_up(complete_blocks);
        }
    }
}
