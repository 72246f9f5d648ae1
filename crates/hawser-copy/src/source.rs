//! Where the bytes come from.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::ops::Range;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hawser_model::copy::{CopySource, SourceState};
use nix::errno::Errno;
use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};
use nix::unistd::{Whence, lseek};

use crate::error::CopyError;
use crate::facts::{self, Facts};
use crate::plan::ENDLESS;
use crate::storage::{self, Opened};

/// Made data repeats after so many bytes; a prime number of eight-byte words, so that no block is
/// like another.
const PATTERN: usize = 131_071 * 8;

/// An open source.
pub(crate) struct Source {
    kind: Kind,
    pub(crate) size: u64,
    /// Permissions, of a file.
    pub(crate) mode: Option<u32>,
    /// How long it is read, when it has no end of its own.
    pub(crate) duration: Option<Duration>,
    path: String,
    /// A stretch that is known to be data. tmpfs looks at every page up to the next hole each time
    /// it is asked: for a file without holes, at all the rest of it for every block.
    known: Mutex<Range<u64>>,
}

enum Kind {
    /// With what was known of it at the start.
    File(File, Facts),
    Device(File),
    Memory(Vec<u8>),
    Repeated(Opened),
}

/// A stretch of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Segment {
    /// Data up to this offset.
    Data(u64),
    /// A hole up to this offset.
    Hole(u64),
}

impl Source {
    pub(crate) fn open(source: &CopySource) -> Result<Self, CopyError> {
        let path = match source {
            CopySource::Memory(bytes) => {
                let kind = Kind::Memory(pattern());
                return Ok(Self::of(kind, bytes.0, "memory".to_owned()));
            }
            CopySource::Repeated { storage, duration } => {
                let opened = storage::source(storage)?;
                let how = opened.how().to_owned();
                return Ok(Self {
                    duration: Some(Duration::from_nanos(duration.0)),
                    ..Self::of(Kind::Repeated(opened), ENDLESS, how)
                });
            }
            CopySource::Path(path) => path.clone(),
        };
        let mut file = facts::options()
            .open(&path)
            .map_err(CopyError::file("open", &path))?;
        let about = file.metadata().map_err(CopyError::file("fstat", &path))?;
        // Refused by a file system that reads ahead as it likes: then it does.
        let _ = posix_fadvise(&file, 0, 0, PosixFadviseAdvice::POSIX_FADV_SEQUENTIAL);
        let kind = about.file_type();
        if kind.is_file() {
            let facts = Facts::of(&about);
            return Ok(Self {
                mode: Some(about.mode() & 0o777),
                ..Self::of(Kind::File(file, facts), about.len(), path)
            });
        }
        if kind.is_block_device() {
            let size = file
                .seek(SeekFrom::End(0))
                .map_err(CopyError::file("lseek end of", &path))?;
            return Ok(Self::of(Kind::Device(file), size, path));
        }
        Err(CopyError::Kind {
            path,
            kind: kind_word(kind),
            allowed: "files and block devices",
            direction: "from",
        })
    }

    fn of(kind: Kind, size: u64, path: String) -> Self {
        Self {
            kind,
            size,
            mode: None,
            duration: None,
            path,
            known: Mutex::default(),
        }
    }

    /// Takes a file as it is from now on, once what was written of it is on its disk; that may take long.
    ///
    /// # Errors
    /// It cannot be looked at, or its size is not that of what is in it.
    pub(crate) fn settle(&mut self) -> Result<(), CopyError> {
        let Kind::File(file, facts) = &mut self.kind else {
            return Ok(());
        };
        let (settled, about) = Facts::settled(file, &self.path)?;
        *facts = settled;
        self.mode = Some(about.mode() & 0o777);
        self.size = about.len();
        // Files of /proc have a size of 0; one that is written to may just have grown.
        let beyond = file.read_at(&mut [0], self.size).is_ok_and(|read| read > 0);
        let grew = || file.metadata().is_ok_and(|now| now.len() > self.size);
        match beyond && !grew() {
            true => Err(self.no_size()),
            false => Ok(()),
        }
    }

    /// What lies at `at`, looking no further than `end`.
    pub(crate) fn segment(&self, at: u64, end: u64) -> Segment {
        let Kind::File(file, _) = &self.kind else {
            return Segment::Data(end);
        };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.contains(&at) {
            return Segment::Data(known.end.min(end));
        }
        let seek = |whence| lseek(file.as_fd(), at as i64, whence).map(|found| found as u64);
        match seek(Whence::SeekData) {
            Ok(data) if data > at => Segment::Hole(data.min(end)),
            Ok(_) => match seek(Whence::SeekHole) {
                Ok(hole) if hole > at => {
                    *known = at..hole;
                    Segment::Data(hole.min(end))
                }
                _ => Segment::Data(end),
            },
            // No data up to the end of the file.
            Err(Errno::ENXIO) => Segment::Hole(end),
            // A file system that does not tell.
            Err(_) => Segment::Data(end),
        }
    }

    /// Fills `into` from `at` on.
    pub(crate) fn read(&self, into: &mut [u8], at: u64) -> Result<(), CopyError> {
        match &self.kind {
            Kind::Memory(pattern) => {
                let mut from = (at % PATTERN as u64) as usize;
                let mut rest = into;
                while !rest.is_empty() {
                    let part = rest.len().min(PATTERN - from);
                    rest[..part].copy_from_slice(&pattern[from..from + part]);
                    rest = &mut rest[part..];
                    from = 0;
                }
                Ok(())
            }
            Kind::Repeated(opened) => opened.read(into, at),
            Kind::File(file, _) | Kind::Device(file) => {
                file.read_exact_at(into, at).map_err(|error| {
                    if error.kind() == io::ErrorKind::UnexpectedEof {
                        self.ended(file, at)
                    } else {
                        CopyError::file("read", &self.path)(error)
                    }
                })
            }
        }
    }

    /// The file whose pages can go to a socket without a copy.
    pub(crate) fn pages(&self) -> Option<&File> {
        match &self.kind {
            Kind::File(file, _) | Kind::Device(file) => Some(file),
            Kind::Memory(_) | Kind::Repeated(_) => None,
        }
    }

    /// How the source differs from what it was at the start; `None` also when nobody can tell.
    pub(crate) fn changed(&self) -> Option<String> {
        match &self.kind {
            Kind::File(file, before) => before.changed(file, &self.path),
            Kind::Device(_) | Kind::Memory(_) | Kind::Repeated(_) => None,
        }
    }

    /// What is known of it, when `changed` is how it differs.
    pub(crate) fn state(&self, changed: Option<&str>) -> SourceState {
        match (&self.kind, changed) {
            (_, Some(_)) => SourceState::Changed,
            (Kind::File(..) | Kind::Memory(_), None) => SourceState::Unchanged,
            (Kind::Device(_) | Kind::Repeated(_), None) => SourceState::Unknown,
        }
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// It ended before its end, which nobody saw when this was read.
    pub(crate) fn ended(&self, file: &File, at: u64) -> CopyError {
        let ends = file.metadata().map_or(at, |now| now.len());
        match (&self.kind, ends < self.size) {
            (Kind::File(..), false) => self.no_size(),
            _ => CopyError::Shrunk {
                path: self.path.clone(),
                at: ends,
                size: self.size,
            },
        }
    }

    fn no_size(&self) -> CopyError {
        CopyError::NoSize {
            path: self.path.clone(),
            size: self.size,
        }
    }
}

/// Numbers of a xorshift generator (Marsaglia 2003): cheap, and no disk or NIC can shorten them.
fn pattern() -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    (0..PATTERN / 8)
        .flat_map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()
        })
        .collect()
}

/// What people call a kind of file.
pub(crate) fn kind_word(kind: std::fs::FileType) -> &'static str {
    match () {
        () if kind.is_dir() => "directory",
        () if kind.is_file() => "regular file",
        () if kind.is_block_device() => "block device",
        () if kind.is_fifo() => "fifo",
        () if kind.is_socket() => "socket",
        () if kind.is_char_device() => "character device",
        () => "special file",
    }
}
