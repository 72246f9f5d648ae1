//! A client that creates files beside the one that is written to, on NFS 4. For a grace period after its start a server refuses to
//! open, create, remove or lock files (RFC 8881, 8.4.2.1), and serves those that clients have open.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hawser_model::mountinfo::{self, mounted};
use nix::sys::stat::{major, minor};

use crate::history::{Kind, Log, Record, micros};
use crate::word::Word;

/// From one file to the next.
const PAUSE: Duration = Duration::from_millis(25);

/// What the file is called, after the name of the one that is written to.
const SUFFIX: &str = ".hawser-new";

/// Creates a file and removes it, again and again.
#[derive(Debug)]
pub struct Creator {
    path: PathBuf,
    number: u8,
}

impl Creator {
    /// One that has created a first file beside this one; it goes by this number in the history.
    ///
    /// # Errors
    /// In words: it is no file on NFS 4, or none can be created there.
    pub fn beside(file: &Path, number: u8) -> Result<Self, String> {
        if !is_on_nfs4(file) {
            return Err(format!(
                "{}: not a file on NFS 4, which alone has a grace period that files wait for",
                file.display()
            ));
        }
        let path = beside(file);
        match create(&path) {
            Ok(()) => Ok(Self { path, number }),
            Err(e) => Err(format!("create {}: {e}", path.display())),
        }
    }

    /// Works until it is told to stop, or all writers have ended. Counts itself as working once a file was created.
    ///
    /// # Errors
    /// The history cannot be written.
    pub fn work(&self, log: &Log, stop: [&AtomicBool; 2], working: &AtomicU32) -> io::Result<()> {
        let mut has_begun = false;
        while !stop.iter().any(|stop| stop.load(Ordering::Relaxed)) {
            let asked = Instant::now();
            let kind = match create(&self.path) {
                Ok(()) => Kind::Created,
                Err(e) => {
                    let words = format!("create {}: {e}", self.path.display());
                    log.say(Word::Said(words));
                    Kind::Refused
                }
            };
            log.put(Record {
                value: micros(asked.elapsed()),
                ..Record::new(kind, self.number)
            })?;
            if kind == Kind::Created && !std::mem::replace(&mut has_begun, true) {
                working.fetch_add(1, Ordering::Relaxed);
            }
            thread::sleep(PAUSE);
        }
        Ok(())
    }
}

fn beside(file: &Path) -> PathBuf {
    let mut path = file.as_os_str().to_owned();
    path.push(SUFFIX);
    path.into()
}

fn is_on_nfs4(file: &Path) -> bool {
    let mounts = fs::read_to_string(mountinfo::OWN).unwrap_or_default();
    fs::metadata(file).is_ok_and(|it| it.is_file() && is_nfs4(&mounts, it.dev()))
}

/// Whether this device is a mount of NFS 4.
fn is_nfs4(mounts: &str, device: u64) -> bool {
    let own = (major(device), minor(device));
    mounted(mounts).any(|it| it.device == own && it.fstype == "nfs4")
}

/// Creates a file that is not there and removes it. An empty one is what an earlier client left when it was killed.
fn create(path: &Path) -> io::Result<()> {
    let new = || {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).open(path)
    };
    let file = match new() {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
            let left = fs::symlink_metadata(path);
            if left.is_ok_and(|left| !left.is_file() || left.len() > 0) {
                return Err(e);
            }
            remove(path)?;
            new()?
        }
        created => created?,
    };
    drop(file);
    remove(path)
}

/// A server that died may have removed it, and its answer is lost.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn files_are_created_until_the_order_to_stop_and_none_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = beside(&folder.path().join("drill.img"));
        fs::write(&path, "").unwrap();
        let creator = Creator {
            path: path.clone(),
            number: 2,
        };
        let (say, words) = channel();
        let log = Log::report(say);
        let (stop, never) = (AtomicBool::new(false), AtomicBool::new(false));
        let working = AtomicU32::new(0);
        thread::scope(|scope| {
            let work = scope.spawn(|| creator.work(&log, [&never, &stop], &working));
            for _ in 0..3 {
                let Ok(Word::Record(record)) = words.recv() else {
                    panic!("a record");
                };
                assert_eq!((record.kind, record.writer), (Kind::Created, 2));
            }
            stop.store(true, Ordering::Relaxed);
            work.join().unwrap().unwrap();
        });
        assert_eq!(working.into_inner(), 1);
        assert!(!path.exists());
    }

    #[test]
    fn a_file_of_somebody_else_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = beside(&folder.path().join("drill.img"));
        fs::write(&path, "mine").unwrap();
        let refused = create(&path).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    }

    #[test]
    fn what_is_not_on_nfs_4_is_refused_in_words() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("drill.img");
        fs::write(&file, "").unwrap();
        let why = Creator::beside(&file, 1).unwrap_err();
        assert!(why.contains("not a file on NFS 4"), "{why}");
        let mounts = "\
            36 25 0:44 / /mnt/home rw,relatime shared:1 - nfs4 10.72.2.207:/vmpool01/home rw,vers=4.2\n\
            37 25 0:45 / /mnt/three rw,relatime - nfs 10.72.2.207:/vmpool01/home rw,vers=3\n";
        assert!(is_nfs4(mounts, nix::sys::stat::makedev(0, 44)));
        assert!(!is_nfs4(mounts, nix::sys::stat::makedev(0, 45)));
        assert!(!is_nfs4(mounts, nix::sys::stat::makedev(0, 4)));
    }
}
