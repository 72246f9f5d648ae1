//! A folder, opened once; what is in it, by its descriptor and without following a link.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata, Permissions};
use std::io::Read;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::{Component, Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{OFlag, RenameFlags, open, openat, renameat2};
use nix::sys::stat::{Mode, mkdirat};
use nix::unistd::{UnlinkatFlags, fsync, geteuid, unlinkat};

use crate::{FileError, kind};

/// What a file must be to be read: regular, of this owner, written by nobody else, and not larger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected {
    /// Whose it must be.
    pub owner: u32,
    /// So many bytes it may have.
    pub limit: u64,
    /// Nobody else may read it either.
    pub private: bool,
}

impl Expected {
    /// A file of root's with a configuration or what is remembered of one.
    pub const OF_ROOT: Self = Self {
        owner: 0,
        limit: 1 << 20,
        private: false,
    };

    /// A file that this process keeps for itself.
    pub fn own(limit: u64) -> Self {
        Self {
            owner: geteuid().as_raw(),
            limit,
            private: true,
        }
    }
}

/// An open folder. It may be one that is entered and not listed (`O_PATH`).
#[derive(Debug)]
pub struct Folder {
    fd: OwnedFd,
    path: PathBuf,
}

impl Folder {
    /// Opens a folder that is trusted, or that a person has named: links on the way are followed.
    ///
    /// # Errors
    /// It is not there, is no folder, or may not be entered.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let fd = open(path, flags, Mode::empty()).map_err(FileError::io("open folder", path))?;
        Ok(Self {
            fd,
            path: path.to_owned(),
        })
    }

    /// The folder of a file, and the file's name in it.
    ///
    /// # Errors
    /// As [`Self::open`]; the path ends in no name.
    pub fn of(path: &Path) -> Result<(Self, &OsStr), FileError> {
        let name = match path.components().next_back() {
            Some(Component::Normal(name)) => name,
            _ => {
                return Err(FileError::Name {
                    path: path.to_owned(),
                });
            }
        };
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        Ok((Self::open(folder)?, name))
    }

    /// A folder below this one. None of the names on the way may be a link.
    ///
    /// # Errors
    /// One of them is not there, is a link or no folder, or the way leads up.
    pub fn below(&self, way: &Path) -> Result<Self, FileError> {
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC | OFlag::O_NOFOLLOW;
        let mut path = self.path.clone();
        let mut below: Option<OwnedFd> = None;
        for part in way.components() {
            let name = match part {
                Component::CurDir => continue,
                Component::Normal(name) => name,
                _ => {
                    return Err(FileError::Name {
                        path: path.join(way),
                    });
                }
            };
            path.push(name);
            let from = below.as_ref().map_or(self.fd.as_fd(), OwnedFd::as_fd);
            let fd = match openat(from, name, flags, Mode::empty()) {
                Ok(fd) => fd,
                // With O_DIRECTORY the kernel says ENOTDIR of a link too.
                Err(Errno::ELOOP | Errno::ENOTDIR) => {
                    let found = about(from, name, &path)?;
                    let found = found.map_or("name of nothing", |a| kind::word(a.file_type()));
                    return Err(kind::wrong(&path, found, "folder"));
                }
                Err(errno) => return Err(FileError::io("open folder", &path)(errno)),
            };
            below = Some(fd);
        }
        let fd = match below {
            Some(fd) => fd,
            None => self
                .fd
                .try_clone()
                .map_err(FileError::io("dup", &self.path))?,
        };
        Ok(Self { fd, path })
    }

    /// The folder that it is in.
    ///
    /// # Errors
    /// It cannot be entered.
    pub fn up(&self) -> Result<Self, FileError> {
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let path = self.path.join("..");
        let fd = openat(&self.fd, "..", flags, Mode::empty())
            .map_err(FileError::io("open folder", &path))?;
        Ok(Self { fd, path })
    }

    /// What it was opened as.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is known of it.
    ///
    /// # Errors
    /// It cannot be looked at.
    pub fn metadata(&self) -> Result<Metadata, FileError> {
        self.fd
            .try_clone()
            .and_then(|fd| File::from(fd).metadata())
            .map_err(FileError::io("stat", &self.path))
    }

    /// What is known of `name`, which is neither followed nor opened; `None` when there is no such.
    ///
    /// # Errors
    /// It cannot be looked at.
    pub fn about(&self, name: &OsStr) -> Result<Option<Metadata>, FileError> {
        about(self.fd.as_fd(), self.plain(name)?, &self.path.join(name))
    }

    /// The names of all that is in it.
    ///
    /// # Errors
    /// It cannot be listed.
    pub fn names(&self) -> Result<Vec<OsString>, FileError> {
        // Listing by the descriptor itself would move its position.
        fs::read_dir(format!("/proc/self/fd/{}", self.fd.as_raw_fd()))
            .and_then(|all| all.map(|entry| Ok(entry?.file_name())).collect())
            .map_err(FileError::io("list", &self.path))
    }

    /// All bytes of a file that is as expected; `None` when there is none.
    ///
    /// # Errors
    /// It is not as expected, or cannot be read.
    pub fn read(&self, name: &OsStr, expected: Expected) -> Result<Option<Vec<u8>>, FileError> {
        let Some(file) = self.regular(name, OFlag::O_RDONLY)? else {
            return Ok(None);
        };
        let path = self.path.join(name);
        let about = file.metadata().map_err(FileError::io("stat", &path))?;
        kind::owned(&about, expected.owner, &path)?;
        let mode = about.mode() & 0o7777;
        if expected.private && mode & 0o077 != 0 {
            return Err(FileError::Readable { path, mode });
        }
        bounded(&file, expected.limit, &path).map(Some)
    }

    /// The same as text.
    ///
    /// # Errors
    /// As [`Self::read`]; it is no UTF-8.
    pub fn read_text(&self, name: &OsStr, expected: Expected) -> Result<Option<String>, FileError> {
        let Some(bytes) = self.read(name, expected)? else {
            return Ok(None);
        };
        let wrong = |e: std::string::FromUtf8Error| FileError::Text {
            path: self.path.join(name),
            at: e.utf8_error().valid_up_to(),
        };
        String::from_utf8(bytes).map(Some).map_err(wrong)
    }

    /// A file that an earlier run of ours left, open for reading and writing; `None` when there is none.
    ///
    /// # Errors
    /// It is not regular, not ours, has other names, or others can write it: then it is not touched.
    pub fn own(&self, name: &OsStr) -> Result<Option<File>, FileError> {
        self.own_of(name, geteuid().as_raw())
    }

    /// The same, where ours is this user's.
    pub(crate) fn own_of(&self, name: &OsStr, owner: u32) -> Result<Option<File>, FileError> {
        let Some(file) = self.regular(name, OFlag::O_RDWR)? else {
            return Ok(None);
        };
        let path = self.path.join(name);
        let about = file.metadata().map_err(FileError::io("stat", &path))?;
        kind::owned(&about, owner, &path)?;
        match about.nlink() {
            1 => Ok(Some(file)),
            found => Err(FileError::Links { path, found }),
        }
    }

    /// Removes a file or link; whether there was one.
    ///
    /// # Errors
    /// It cannot be removed.
    pub fn remove(&self, name: &OsStr) -> Result<bool, FileError> {
        match unlinkat(&self.fd, self.plain(name)?, UnlinkatFlags::NoRemoveDir) {
            Ok(()) => Ok(true),
            Err(Errno::ENOENT) => Ok(false),
            Err(errno) => Err(FileError::io("remove", self.path.join(name))(errno)),
        }
    }

    /// Gives what is called `name` here to another folder of the same file system, where nothing has that name.
    ///
    /// # Errors
    /// It is not there, the name is taken, or it cannot be moved.
    pub fn give(&self, name: &OsStr, to: &Self) -> Result<(), FileError> {
        let name = self.plain(name)?;
        match renameat2(self, name, to, name, RenameFlags::RENAME_NOREPLACE) {
            Ok(()) => Ok(()),
            Err(Errno::EEXIST) => Err(FileError::Exists {
                path: to.path.join(name),
            }),
            Err(errno) => Err(FileError::io("move", self.path.join(name))(errno)),
        }
    }

    /// Creates a folder with the owner, group and mode of another one.
    ///
    /// # Errors
    /// The name is taken, or it cannot be created.
    pub fn create_folder(&self, name: &OsStr, like: &Self) -> Result<Self, FileError> {
        let path = self.path.join(name);
        let about = like.metadata()?;
        match mkdirat(self, self.plain(name)?, Mode::S_IRWXU) {
            Ok(()) => {}
            Err(Errno::EEXIST) => return Err(FileError::Exists { path }),
            Err(errno) => return Err(FileError::io("create folder", &path)(errno)),
        }
        let new = self.below(Path::new(name))?;
        let open = openat(&new, ".", OFlag::O_RDONLY | OFlag::O_CLOEXEC, Mode::empty())
            .map(File::from)
            .map_err(FileError::io("open folder", &path))?;
        fchown(&open, Some(about.uid()), Some(about.gid()))
            .and_then(|()| open.set_permissions(Permissions::from_mode(about.mode() & 0o7777)))
            .map_err(FileError::io("chown", &path))?;
        self.sync()?;
        Ok(new)
    }

    /// What was created, renamed and removed here is on the disk when this returns.
    ///
    /// # Errors
    /// The disk does not take it.
    pub fn sync(&self) -> Result<(), FileError> {
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        openat(&self.fd, ".", flags, Mode::empty())
            .and_then(fsync)
            .map_err(FileError::io("sync folder", &self.path))
    }

    /// Opens a regular file. A FIFO or a device that is put in its place meanwhile neither blocks nor
    /// becomes a terminal.
    fn regular(&self, name: &OsStr, how: OFlag) -> Result<Option<File>, FileError> {
        let path = self.path.join(name);
        let Some(found) = self.about(name)? else {
            return Ok(None);
        };
        kind::regular(found.file_type(), &path)?;
        let flags =
            how | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
        let file = match openat(&self.fd, name, flags, Mode::empty()) {
            Ok(fd) => File::from(fd),
            Err(Errno::ENOENT) => return Ok(None),
            Err(Errno::ELOOP) => return Err(kind::wrong(&path, "symbolic link", "regular file")),
            Err(errno) => return Err(FileError::io("open", &path)(errno)),
        };
        let about = file.metadata().map_err(FileError::io("stat", &path))?;
        kind::regular(about.file_type(), &path)?;
        Ok(Some(file))
    }

    /// A name, and not a way.
    pub(crate) fn plain<'a>(&self, name: &'a OsStr) -> Result<&'a OsStr, FileError> {
        let mut parts = Path::new(name).components();
        match (parts.next(), parts.next()) {
            (Some(Component::Normal(only)), None) if only == name => Ok(name),
            _ => Err(FileError::Name {
                path: self.path.join(name),
            }),
        }
    }
}

impl AsFd for Folder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn about(folder: BorrowedFd<'_>, name: &OsStr, path: &Path) -> Result<Option<Metadata>, FileError> {
    let flags = OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    match openat(folder, name, flags, Mode::empty()) {
        Ok(fd) => {
            let about = File::from(fd).metadata();
            about.map(Some).map_err(FileError::io("stat", path))
        }
        Err(Errno::ENOENT) => Ok(None),
        Err(errno) => Err(FileError::io("stat", path)(errno)),
    }
}

/// All bytes, at most so many.
pub(crate) fn bounded(file: &File, limit: u64, path: &Path) -> Result<Vec<u8>, FileError> {
    let mut bytes = Vec::new();
    let mut some = file.take(limit.saturating_add(1));
    some.read_to_end(&mut bytes)
        .map_err(FileError::io("read", path))?;
    match bytes.len() as u64 > limit {
        false => Ok(bytes),
        true => Err(FileError::Size {
            path: path.to_owned(),
            limit,
        }),
    }
}
