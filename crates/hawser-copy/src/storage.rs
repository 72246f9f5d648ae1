//! Storage that is read or written over and over: what a ladder measures, bare and as the ends of
//! a copy; and buffers that `O_DIRECT` takes.

use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use hawser_model::ladder::Storage;
use nix::fcntl::OFlag;

use crate::error::CopyError;

/// Bytes of one read or write of the bare rungs.
pub const BLOCK: usize = 1 << 20;

/// Logical blocks of storage are at most this large, and `O_DIRECT` wants memory, offset and
/// length aligned to them (open(2)).
pub(crate) const ALIGNMENT: usize = 4096;

/// Bytes written through the page cache between two `fdatasync`: what a page cache takes is not
/// yet written.
const SYNC_EVERY: u64 = 64 << 20;

/// Bytes of the unnamed file of memory that stands for a source.
const MEMORY: u64 = 128 << 20;

/// How far a sink is written before it starts over: a rung must not fill a disk.
const SINK_EXTENT: u64 = 1 << 30;

/// An open source or sink. Offsets go on for ever; they are taken around its extent.
#[derive(Debug)]
pub struct Opened {
    file: File,
    /// Bytes that can be read or written before starting over.
    extent: u64,
    how: String,
    /// What is written must be brought to a device (`fdatasync`) before it counts.
    sync: bool,
    unsynced: AtomicU64,
}

/// A buffer aligned for `O_DIRECT`.
pub struct Aligned {
    memory: Vec<u8>,
    start: usize,
    length: usize,
}

impl Aligned {
    /// Of `length` bytes.
    pub fn new(length: usize) -> Self {
        let memory = vec![0x5a; length + ALIGNMENT];
        let start = memory.as_ptr().align_offset(ALIGNMENT);
        Self {
            memory,
            start,
            length,
        }
    }

    /// All of it.
    pub fn bytes(&self) -> &[u8] {
        &self.memory[self.start..][..self.length]
    }

    /// All of it.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..][..self.length]
    }
}

/// Where memory is a file system.
fn memory_folder() -> PathBuf {
    let shm = Path::new("/dev/shm");
    match shm.is_dir() {
        true => shm.to_owned(),
        false => std::env::temp_dir(),
    }
}

/// How a path is gone through.
fn manner(storage: &Storage) -> &'static str {
    match storage.direct {
        true => "O_DIRECT",
        false => "page cache",
    }
}

/// Opens a source for reading.
///
/// # Errors
/// The call that failed; a source with less than 4096 bytes.
pub fn source(storage: &Storage) -> Result<Opened, CopyError> {
    let Some(path) = &storage.path else {
        let folder = memory_folder();
        let file = tempfile::tempfile_in(&folder)
            .map_err(CopyError::file("create a file in", folder.display()))?;
        let block = vec![0x5a; BLOCK];
        for at in (0..MEMORY).step_by(BLOCK) {
            file.write_all_at(&block, at)
                .map_err(CopyError::file("write a file in", folder.display()))?;
        }
        let how = "memory, page cache".to_owned();
        return Ok(Opened::new(file, MEMORY, how, false));
    };
    let shown = path.display();
    let mut file = options(storage)
        .read(true)
        .open(path)
        .map_err(CopyError::file("open", &shown))?;
    // A device's size is where its end is; its metadata says 0.
    let size = file
        .seek(SeekFrom::End(0))
        .map_err(CopyError::file("lseek", &shown))?;
    let extent = size - size % ALIGNMENT as u64;
    if extent == 0 {
        return Err(CopyError::Storage(format!(
            "{shown} has {size} bytes: too few to be read as a source"
        )));
    }
    let how = format!("{shown}, {}", manner(storage));
    Ok(Opened::new(file, extent, how, false))
}

/// Opens a sink for writing: an unnamed file in a folder, which is gone with its last user.
///
/// # Errors
/// The call that failed; a sink that is no folder, or has no space left.
pub fn sink(storage: &Storage) -> Result<Opened, CopyError> {
    let memory;
    let (folder, how) = match &storage.path {
        None => {
            memory = memory_folder();
            (&memory, "memory, page cache".to_owned())
        }
        Some(path) => (path, format!("{}, {}", path.display(), manner(storage))),
    };
    let shown = folder.display();
    let kind = std::fs::metadata(folder)
        .map_err(CopyError::file("stat", &shown))?
        .file_type();
    if kind.is_block_device() || !kind.is_dir() {
        return Err(CopyError::Storage(format!(
            "{shown} is not a folder: a ladder writes only into a file of its own, so that \
             nothing is overwritten"
        )));
    }
    let file = match storage.direct && storage.path.is_some() {
        false => {
            tempfile::tempfile_in(folder).map_err(CopyError::file("create a file in", &shown))?
        }
        true => options(storage)
            .read(true)
            .write(true)
            .custom_flags((OFlag::O_TMPFILE | OFlag::O_DIRECT).bits())
            .mode(0o600)
            .open(folder)
            .map_err(CopyError::file("open O_TMPFILE O_DIRECT", &shown))?,
    };
    // As far as a quarter of what is free, so that nothing else runs out of space.
    let space = nix::sys::statvfs::fstatvfs(&file).map_err(CopyError::file("statvfs", &shown))?;
    let free = space.blocks_available() as u64 * space.fragment_size() as u64 / 4;
    let extent = match storage.path {
        None => MEMORY.min(free),
        Some(_) => SINK_EXTENT.min(free),
    };
    let extent = extent - extent % BLOCK as u64;
    if extent == 0 {
        return Err(CopyError::Storage(format!("{shown} has no space left")));
    }
    let sync = storage.path.is_some() && !storage.direct;
    Ok(Opened::new(file, extent, how, sync))
}

fn options(storage: &Storage) -> OpenOptions {
    let mut options = OpenOptions::new();
    if storage.direct && storage.path.is_some() {
        options.custom_flags(OFlag::O_DIRECT.bits());
    }
    options
}

impl Opened {
    fn new(file: File, extent: u64, how: String, sync: bool) -> Self {
        Self {
            file,
            extent,
            how,
            sync,
            unsynced: AtomicU64::new(0),
        }
    }

    /// What it is, for a report.
    pub fn how(&self) -> &str {
        &self.how
    }

    /// Whether what is written reaches a device only when it is synced.
    pub fn synced(&self) -> bool {
        self.sync
    }

    /// Fills `buffer` from `offset` on.
    ///
    /// # Errors
    /// The call that failed.
    pub fn read(&self, buffer: &mut [u8], offset: u64) -> Result<(), CopyError> {
        let mut rest = buffer;
        let mut at = offset % self.extent;
        while !rest.is_empty() {
            let part = (rest.len() as u64).min(self.extent - at) as usize;
            let (now, later) = rest.split_at_mut(part);
            self.file
                .read_exact_at(now, at)
                .map_err(CopyError::file("read", &self.how))?;
            rest = later;
            at = 0;
        }
        Ok(())
    }

    /// Writes at `offset`, and brings it to the device each 64 MiB where that is another thing;
    /// whether it did so now.
    ///
    /// # Errors
    /// The call that failed.
    pub fn write(&self, bytes: &[u8], offset: u64) -> Result<bool, CopyError> {
        let mut rest = bytes;
        let mut at = offset % self.extent;
        while !rest.is_empty() {
            let part = (rest.len() as u64).min(self.extent - at) as usize;
            let (now, later) = rest.split_at(part);
            self.file
                .write_all_at(now, at)
                .map_err(CopyError::file("write", &self.how))?;
            rest = later;
            at = 0;
        }
        let written = bytes.len() as u64;
        if !self.sync || self.unsynced.fetch_add(written, Relaxed) + written < SYNC_EVERY {
            return Ok(false);
        }
        self.unsynced.store(0, Relaxed);
        self.file
            .sync_data()
            .map_err(CopyError::file("fdatasync", &self.how))?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sink_is_a_file_of_its_own_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let storage = Storage {
            path: Some(folder.path().to_owned()),
            direct: false,
        };
        let opened = sink(&storage).unwrap();
        opened.write(&[1; 4096], 0).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);

        let file = folder.path().join("precious");
        std::fs::write(&file, "keep").unwrap();
        let storage = Storage {
            path: Some(file.clone()),
            direct: false,
        };
        let refused = sink(&storage).err().unwrap().to_string();
        assert!(refused.contains("nothing is overwritten"), "{refused}");
        assert_eq!(std::fs::read_to_string(file).unwrap(), "keep");
    }

    #[test]
    fn a_source_is_read_around_and_around() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        std::io::Write::write_all(&mut file, &[7; 3 * 4096 + 5]).unwrap();
        let storage = Storage {
            path: Some(file.path().to_owned()),
            direct: false,
        };
        let opened = source(&storage).unwrap();
        let mut buffer = Aligned::new(2 * 4096);
        for offset in [0, 8192, 3 * 4096 + 4096, 1 << 40] {
            buffer.bytes_mut().fill(0);
            opened.read(buffer.bytes_mut(), offset).unwrap();
            assert!(buffer.bytes().iter().all(|b| *b == 7), "{offset}");
        }
    }
}
