//! Where the bytes go.

use std::collections::HashMap;
use std::fs::{self, File, Permissions};
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use hawser_model::copy::CopySink;
use hawser_model::ladder::Storage;
use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, FallocateFlags, Flock, FlockArg, RenameFlags, fallocate, renameat2};
use nix::unistd::{AccessFlags, access};
use twox_hash::xxhash3_128::Hasher;

use crate::error::CopyError;
use crate::message::Offer;
use crate::plan::Blocks;
use crate::source::kind_word;
use crate::state::State;
use crate::storage::{self, Opened};

/// Zeros are written in pieces of this size where a device cannot zero a range by itself.
const ZEROS: usize = 1 << 20;

/// Where the bytes shall go, looked at before anything is sent.
pub(crate) enum Place {
    Discard,
    Scratch(Storage),
    Device(PathBuf),
    File { path: PathBuf, replace: bool },
}

impl Place {
    /// Looks at the destination.
    pub(crate) fn find(sink: &CopySink) -> Result<Self, CopyError> {
        let (path, name, replace) = match sink {
            CopySink::Path {
                path,
                name,
                replace,
            } => (path, name, replace),
            CopySink::Discard => return Ok(Self::Discard),
            CopySink::Scratch(storage) => {
                // Said before anything is sent, when it cannot be.
                storage::sink(storage)?;
                return Ok(Self::Scratch(storage.clone()));
            }
        };
        let mut path = PathBuf::from(path);
        let mut facts = fs::metadata(&path);
        if facts.as_ref().is_ok_and(fs::Metadata::is_dir) {
            path = path.join(name);
            facts = fs::metadata(&path);
        }
        match facts {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(CopyError::file("stat", path.display())(error)),
            Ok(facts) => {
                let kind = facts.file_type();
                if !kind.is_file() && !kind.is_block_device() {
                    return Err(CopyError::Kind {
                        path: path.display().to_string(),
                        kind: kind_word(kind),
                        allowed: "files, directories and block devices",
                        direction: "to",
                    });
                }
                if !replace {
                    return Err(CopyError::Exists(path.display().to_string()));
                }
                if kind.is_block_device() {
                    return Ok(Self::Device(path));
                }
                // A link is followed: what it names is replaced, not the link.
                path =
                    fs::canonicalize(&path).map_err(CopyError::file("realpath", path.display()))?;
            }
        }
        let folder = folder(&path);
        access(folder, AccessFlags::W_OK | AccessFlags::X_OK)
            .map_err(CopyError::file("write into", folder.display()))?;
        Ok(Self::File {
            path,
            replace: *replace,
        })
    }
}

impl Place {
    /// Whether it takes any number of bytes.
    pub(crate) fn endless(&self) -> bool {
        matches!(self, Self::Discard | Self::Scratch(_))
    }
}

fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

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
    Partial {
        /// Holds the lock as long as the copy runs.
        _lock: Flock<File>,
        part: PathBuf,
        path: PathBuf,
        replace: bool,
        state: Option<State>,
    },
}

impl Sink {
    /// Opens the place for what is offered; gives what an earlier run left there, read again.
    ///
    /// `resumable` says that blocks have checksums.
    pub(crate) fn open(
        place: &Place,
        offer: Offer,
        resumable: bool,
    ) -> Result<(Self, HashMap<u64, u128>), CopyError> {
        match place {
            Place::Discard => {
                let path = Path::new("/dev/null");
                let sink = Self::plain(path, 0, Kind::Discard)?;
                Ok((sink, HashMap::new()))
            }
            Place::Scratch(storage) => {
                let opened = storage::sink(storage)?;
                // The file of a sink that has one of its own is not used.
                let path = Path::new("/dev/null");
                let sink = Self::plain(path, 0, Kind::Scratch(opened))?;
                Ok((sink, HashMap::new()))
            }
            Place::Device(path) => {
                // A device that is mounted, or otherwise in use, says EBUSY.
                let mut sink = Self::plain(path, libc::O_EXCL, Kind::Device)?;
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
            Place::File { path, replace } => Self::partial(path, *replace, offer, resumable),
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

    fn partial(
        path: &Path,
        replace: bool,
        offer: Offer,
        resumable: bool,
    ) -> Result<(Self, HashMap<u64, u128>), CopyError> {
        let (part, state_path) = (beside(path, "part"), beside(path, "state"));
        let shown = part.display().to_string();
        let file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&part)
            .map_err(CopyError::file("create", &shown))?;
        let lock = file.try_clone().map_err(CopyError::file("dup", &shown))?;
        let lock = Flock::lock(lock, FlockArg::LockExclusiveNonblock).map_err(|(_, error)| {
            if error == Errno::EWOULDBLOCK {
                CopyError::Busy(path.display().to_string())
            } else {
                CopyError::file("flock", &shown)(error)
            }
        })?;
        let blocks = Blocks::of(offer.size);
        let mut have = if resumable {
            State::read(&state_path, blocks)
        } else {
            HashMap::new()
        };
        have.retain(|&index, digest| {
            let (start, end) = blocks.range(index);
            digest_of(&file, start, end).is_ok_and(|found| found == *digest)
        });
        if have.is_empty() {
            file.set_len(0)
                .map_err(CopyError::file("truncate", &shown))?;
        }
        file.set_len(offer.size)
            .map_err(CopyError::file("truncate", &shown))?;
        let state = if resumable {
            Some(State::create(&state_path, blocks, &have)?)
        } else {
            None
        };
        let sink = Self {
            file,
            shown,
            fresh: AtomicBool::new(have.is_empty()),
            kind: Kind::Partial {
                _lock: lock,
                part,
                path: path.to_owned(),
                replace,
                state,
            },
        };
        Ok((sink, have))
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
            Kind::Device | Kind::Partial { .. } => {}
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
            Kind::Partial {
                state: Some(state), ..
            } => state.note(index, digest),
            _ => Ok(()),
        }
    }

    /// Everything is there: to the disk with it, and into its place.
    pub(crate) fn commit(&self, mode: Option<u32>) -> Result<(), CopyError> {
        if matches!(self.kind, Kind::Discard | Kind::Scratch(_)) {
            return Ok(());
        }
        let Kind::Partial {
            part,
            path,
            replace,
            state,
            ..
        } = &self.kind
        else {
            return self
                .file
                .sync_all()
                .map_err(CopyError::file("fsync", &self.shown));
        };
        if let Some(mode) = mode {
            self.file
                .set_permissions(Permissions::from_mode(mode))
                .map_err(CopyError::file("chmod", &self.shown))?;
        }
        self.file
            .sync_all()
            .map_err(CopyError::file("fsync", &self.shown))?;
        rename(part, path, *replace)?;
        if let Some(state) = state {
            // It names a file that is no more; the next copy begins a new one.
            let _ = fs::remove_file(state.path());
        }
        let folder = folder(path);
        File::open(folder)
            .and_then(|folder| folder.sync_all())
            .map_err(CopyError::file("fsync", folder.display()))
    }

    /// The copy failed. What can be resumed stays, anything else goes.
    pub(crate) fn give_up(&self, complete_blocks: usize) {
        if let Kind::Partial { part, state, .. } = &self.kind {
            if state.is_some() && complete_blocks > 0 {
                return;
            }
            // The error that brought us here is the one to report.
            let _ = fs::remove_file(part);
            if let Some(state) = state {
                let _ = fs::remove_file(state.path());
            }
        }
    }
}

/// `.NAME.hawser-part`.
fn beside(path: &Path, what: &str) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".hawser-{what}"));
    path.with_file_name(name)
}

fn rename(part: &Path, path: &Path, replace: bool) -> Result<(), CopyError> {
    if !replace {
        match renameat2(
            AT_FDCWD,
            part,
            AT_FDCWD,
            path,
            RenameFlags::RENAME_NOREPLACE,
        ) {
            Ok(()) => return Ok(()),
            Err(Errno::EEXIST) => return Err(CopyError::Exists(path.display().to_string())),
            // A file system without it.
            Err(Errno::EINVAL) if !path.exists() => {}
            Err(error) => return Err(CopyError::file("rename to", path.display())(error)),
        }
    }
    fs::rename(part, path).map_err(CopyError::file("rename to", path.display()))
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
