//! Opening what is read and written, and buffers that `O_DIRECT` takes.

use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use hawser_model::ladder::Storage;
use nix::fcntl::OFlag;

use crate::RungError;

/// Bytes of one read or write of the bare rungs.
pub(crate) const BLOCK: usize = 1 << 20;

/// Logical blocks of storage are at most this large, and `O_DIRECT` wants memory, offset and
/// length aligned to them (open(2)).
const ALIGNMENT: usize = 4096;

/// Bytes of the unnamed file of memory that stands for a source.
const MEMORY: u64 = 128 << 20;

/// How far a sink is written before it starts over: a rung must not fill a disk.
pub(crate) const SINK_EXTENT: u64 = 1 << 30;

/// An open source or sink.
pub(crate) struct Opened {
    pub(crate) file: File,
    /// Bytes that can be read before starting over.
    pub(crate) extent: u64,
    /// What it is, for the report.
    pub(crate) how: String,
    /// What is written must be brought to a device (`fdatasync`) before it counts.
    pub(crate) sync: bool,
}

/// A buffer aligned for `O_DIRECT`.
pub(crate) struct Aligned {
    memory: Vec<u8>,
    start: usize,
    length: usize,
}

impl Aligned {
    pub(crate) fn new(length: usize) -> Self {
        let memory = vec![0x5a; length + ALIGNMENT];
        let start = memory.as_ptr().align_offset(ALIGNMENT);
        Self {
            memory,
            start,
            length,
        }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.memory[self.start..][..self.length]
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
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
pub(crate) fn source(storage: &Storage) -> Result<Opened, RungError> {
    let Some(path) = &storage.path else {
        let folder = memory_folder();
        let file = tempfile::tempfile_in(&folder)
            .map_err(RungError::call("create a file in", folder.display()))?;
        let block = vec![0x5a; BLOCK];
        for at in (0..MEMORY).step_by(BLOCK) {
            file.write_all_at(&block, at)
                .map_err(RungError::call("write a file in", folder.display()))?;
        }
        return Ok(Opened {
            file,
            extent: MEMORY,
            how: "memory, page cache".to_owned(),
            sync: false,
        });
    };
    let shown = path.display();
    let mut file = options(storage)
        .read(true)
        .open(path)
        .map_err(RungError::call("open", &shown))?;
    // A device's size is where its end is; its metadata says 0.
    let size = file
        .seek(SeekFrom::End(0))
        .map_err(RungError::call("lseek", &shown))?;
    let extent = size - size % ALIGNMENT as u64;
    if extent == 0 {
        return Err(RungError::Absent(format!(
            "{shown} has {size} bytes: too few to be read as a source"
        )));
    }
    Ok(Opened {
        file,
        extent,
        how: format!("{shown}, {}", manner(storage)),
        sync: false,
    })
}

/// Opens a sink for writing: an unnamed file in a folder, which is gone with its last user.
pub(crate) fn sink(storage: &Storage) -> Result<Opened, RungError> {
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
        .map_err(RungError::call("stat", &shown))?
        .file_type();
    if kind.is_block_device() || !kind.is_dir() {
        return Err(RungError::Absent(format!(
            "{shown} is not a folder: a ladder writes only into a file of its own, so that \
             nothing is overwritten"
        )));
    }
    let file = match storage.direct && storage.path.is_some() {
        false => {
            tempfile::tempfile_in(folder).map_err(RungError::call("create a file in", &shown))?
        }
        true => options(storage)
            .read(true)
            .write(true)
            .custom_flags((OFlag::O_TMPFILE | OFlag::O_DIRECT).bits())
            .mode(0o600)
            .open(folder)
            .map_err(RungError::call("open O_TMPFILE O_DIRECT", &shown))?,
    };
    // As far as a quarter of what is free, so that nothing else runs out of space.
    let space = nix::sys::statvfs::fstatvfs(&file).map_err(RungError::call("statvfs", &shown))?;
    let free = space.blocks_available() as u64 * space.fragment_size() as u64 / 4;
    let extent = match storage.path {
        None => MEMORY.min(free),
        Some(_) => SINK_EXTENT.min(free),
    };
    let extent = extent - extent % BLOCK as u64;
    if extent == 0 {
        return Err(RungError::Absent(format!("{shown} has no space left")));
    }
    Ok(Opened {
        file,
        extent,
        how,
        sync: storage.path.is_some() && !storage.direct,
    })
}

fn options(storage: &Storage) -> OpenOptions {
    let mut options = OpenOptions::new();
    if storage.direct && storage.path.is_some() {
        options.custom_flags(OFlag::O_DIRECT.bits());
    }
    options
}

impl Opened {
    /// Reads at `offset`, which is moved on and around; how many bytes.
    pub(crate) fn read(&self, buffer: &mut [u8], offset: &mut u64) -> Result<usize, RungError> {
        let length = (buffer.len() as u64).min(self.extent - *offset) as usize;
        self.file
            .read_exact_at(&mut buffer[..length], *offset)
            .map_err(RungError::call("read", &self.how))?;
        *offset = (*offset + length as u64) % self.extent;
        Ok(length)
    }

    /// Writes at `offset`, which is moved on and around.
    pub(crate) fn write(&self, bytes: &[u8], offset: &mut u64) -> Result<(), RungError> {
        if *offset + bytes.len() as u64 > self.extent {
            *offset = 0;
        }
        self.file
            .write_all_at(bytes, *offset)
            .map_err(RungError::call("write", &self.how))?;
        *offset += bytes.len() as u64;
        Ok(())
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
        opened.write(&[1; 4096], &mut 0).unwrap();
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
        let mut offset = 0;
        let mut buffer = Aligned::new(2 * 4096);
        let read: Vec<usize> = (0..3)
            .map(|_| opened.read(buffer.bytes_mut(), &mut offset).unwrap())
            .collect();
        assert_eq!(read, [8192, 4096, 8192]);
    }
}
