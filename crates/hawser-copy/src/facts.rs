//! Whether a file is what it was: identity, size, and the times that the kernel keeps.

use std::fs::{File, Metadata, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::error::CopyError;

/// Times of files move on in ticks of at most 10 ms (`CONFIG_HZ` 100): of two changes within one, the
/// second leaves no trace.
const TICK: Duration = Duration::from_millis(20);

/// How often a file that is being written to is looked at again before it is taken as it is.
const LOOKS: usize = 5;

/// What was known of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Facts {
    identity: (u64, u64),
    size: u64,
    modified: (i64, i64),
    /// Set by the kernel alone at every change of data, size or mode; nobody can put it back.
    changed: (i64, i64),
}

impl Facts {
    /// As it is told now.
    pub(crate) fn of(about: &Metadata) -> Self {
        Self {
            identity: (about.dev(), about.ino()),
            size: about.len(),
            modified: (about.mtime(), about.mtime_nsec()),
            changed: (about.ctime(), about.ctime_nsec()),
        }
    }

    /// Of a file whose last change is so long ago that the next one will show.
    ///
    /// A store through a mapping sets the times only when it makes a clean page dirty (the kernel's
    /// `file_update_time` in `page_mkwrite`). So dirty pages are written back first: the next store to any of them
    /// shows. tmpfs has no write-back, and shows none.
    pub(crate) fn settled(file: &File, path: &str) -> Result<(Self, Metadata), CopyError> {
        let look = || file.metadata().map_err(CopyError::file("fstat", path));
        // A file system that refuses it keeps no dirty pages of a file that is only read.
        let _ = file.sync_data();
        let mut about = look()?;
        for _ in 0..LOOKS {
            if !recent(&about) {
                break;
            }
            thread::sleep(TICK);
            about = look()?;
        }
        Ok((Self::of(&about), about))
    }

    /// How the file at `path`, which is open, differs from what it was.
    pub(crate) fn changed(&self, file: &File, path: &str) -> Option<String> {
        // Opened anew: only then a client of NFS asks its server (close-to-open, nfs(5)).
        let named = options().open(path).and_then(|named| named.metadata());
        match named {
            Ok(about) if Self::of(&about).identity != self.identity => {
                return Some("another file has its name now".to_owned());
            }
            Err(error) => return Some(format!("open: {error}")),
            Ok(_) => {}
        }
        let now = match file.metadata() {
            Ok(about) => Self::of(&about),
            Err(error) => return Some(format!("fstat: {error}")),
        };
        match () {
            () if now.size != self.size => Some(format!("{} bytes, then {}", self.size, now.size)),
            () if now.modified != self.modified => Some("its data was written".to_owned()),
            () if now.changed != self.changed => {
                Some("its data, mode, owner or names were changed".to_owned())
            }
            () => None,
        }
    }
}

/// How a source is opened: a fifo must not hold us up before we can refuse it.
pub(crate) fn options() -> OpenOptions {
    let mut options = File::options();
    options.read(true).custom_flags(libc::O_NONBLOCK);
    options
}

/// A time of another clock (a file server's) says nothing here.
fn recent(about: &Metadata) -> bool {
    let (seconds, nanos) = (about.ctime(), about.ctime_nsec());
    let since = Duration::new(
        u64::try_from(seconds).unwrap_or_default(),
        u32::try_from(nanos).unwrap_or_default(),
    );
    let age = SystemTime::now().duration_since(UNIX_EPOCH + since);
    age.is_ok_and(|age| age < TICK)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::{BufRead, BufReader, Write};

    use hawser_tool::Launch;

    use super::*;

    /// Makes the first page dirty through a mapping, and stores to it again for each line it is sent.
    const STORES: &str = "import mmap, sys\n\
        f = open(sys.argv[1], 'r+b')\n\
        m = mmap.mmap(f.fileno(), 4096)\n\
        for i in range(2):\n    m[i] = 1\n    print(i, flush=True)\n    sys.stdin.readline()\n";

    #[test]
    fn a_store_to_a_page_that_was_dirty_before_shows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("image").display().to_string();
        fs::write(&path, [0; 4096]).unwrap();
        let Ok(mut writer) = Launch::new("python3").args(["-c", STORES, &path]).piped() else {
            // Past the harness, which shows nothing of a test that passes.
            let why = "\nskipped: a_store_to_a_page_that_was_dirty_before_shows: needs python3\n";
            std::io::stderr().write_all(why.as_bytes()).unwrap();
            return;
        };
        let mut said = BufReader::new(writer.output).lines();
        assert_eq!(said.next().unwrap().unwrap(), "0");
        let file = File::open(&path).unwrap();
        let (facts, _) = Facts::settled(&file, &path).unwrap();
        assert_eq!(facts.changed(&file, &path), None);
        writer.input.write_all(b"\n").unwrap();
        assert_eq!(said.next().unwrap().unwrap(), "1");
        let changed = facts.changed(&file, &path);
        drop(writer.input);
        writer.child.wait().unwrap();
        assert!(changed.is_some(), "tmpfs keeps no time of a store");
    }
}
