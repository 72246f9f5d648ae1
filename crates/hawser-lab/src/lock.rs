//! One command at a time changes a lab.

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

use crate::error::LabError;
use crate::power::SLOWEST_OFF;

/// Longer than any command takes on a lab of the largest size: a head that is switched off in good order stops its pools
/// first.
const PATIENCE: Duration = SLOWEST_OFF.saturating_add(Duration::from_secs(60));

/// Most commands take less; of one that takes longer it is said that it is waited for.
const SAYS: Duration = Duration::from_secs(1);

/// A held lock; the kernel releases it when the process ends, however it ends.
#[derive(Debug)]
pub(crate) struct Lock {
    path: PathBuf,
    _file: Flock<File>,
}

impl Lock {
    /// Waits for the lock at `path`; `what` is what it protects, for the message.
    ///
    /// The file may be removed by its holder ([`Self::remove`]), so a lock counts only when
    /// the path still leads to the file that was locked.
    pub fn take(path: PathBuf, what: &str) -> Result<Self, LabError> {
        Self::take_within(path, what, PATIENCE)
    }

    /// The same for a lock whose holder may take that long.
    pub fn take_within(path: PathBuf, what: &str, patience: Duration) -> Result<Self, LabError> {
        Self::wait(path, what, [SAYS, patience], |words| eprintln!("{words}"))
    }

    /// The same; after the shorter time it says what is waited for.
    fn wait(
        path: PathBuf,
        what: &str,
        [says, patience]: [Duration; 2],
        say: impl FnOnce(&str),
    ) -> Result<Self, LabError> {
        let begun = Instant::now();
        let mut say = Some(say);
        loop {
            let mut file = open(&path)?;
            let locked = loop {
                match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
                    Ok(locked) => break locked,
                    Err((again, Errno::EWOULDBLOCK)) => {
                        let waited = begun.elapsed();
                        if let Some(say) = say.take_if(|_| waited >= says) {
                            let most = patience.as_secs();
                            say(&format!(
                                "waiting for another command that works on {what} (at most {most} s)"
                            ));
                        }
                        if waited >= patience {
                            return Err(LabError::Busy {
                                what: what.to_owned(),
                                seconds: patience.as_secs(),
                                lock: path,
                            });
                        }
                        file = again;
                        std::thread::sleep(Duration::from_millis(20));
                    }
                    Err((_, errno)) => {
                        return Err(LabError::system("flock", path.display().to_string(), errno));
                    }
                }
            };
            if hawser_files::is_at(&locked, &path).is_ok() {
                return Ok(Self {
                    path,
                    _file: locked,
                });
            }
        }
    }

    /// Removes the lock's file, then releases it.
    pub fn remove(self) {
        let _already_gone = fs::remove_file(&self.path);
    }
}

fn open(path: &PathBuf) -> Result<File, LabError> {
    // The folder is removed with the last lab, possibly between the two calls.
    for _ in 0..100 {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|e| LabError::io("create the folder", folder, e))?;
        }
        match OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path)
        {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            other => {
                let file = other.map_err(|e| LabError::io("open the lock", path, e))?;
                return own(file, path);
            }
        }
    }
    Err(LabError::io(
        "open the lock",
        path,
        std::io::ErrorKind::NotFound.into(),
    ))
}

/// Nothing is ever written into a lock. A file with content is somebody else's, and its holder would remove it.
fn own(file: File, path: &Path) -> Result<File, LabError> {
    let about = file.metadata();
    let about = about.map_err(|e| LabError::io("stat", path, e))?;
    match about.is_file() && about.len() == 0 {
        true => Ok(file),
        false => Err(LabError::NotALock(path.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_somebody_else_is_no_lock_and_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("demo.lock");
        fs::write(&path, "somebody's").unwrap();
        let refused = Lock::take(path.clone(), "lab demo");
        assert!(matches!(refused, Err(LabError::NotALock(_))));
        assert_eq!(fs::read_to_string(&path).unwrap(), "somebody's");
    }

    #[test]
    fn a_lock_is_waited_for_longer_than_a_head_takes_to_stop_and_it_is_said() {
        assert!(PATIENCE >= crate::init::STOPS_POOLS + Duration::from_secs(60));
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.lock");
        let _held = Lock::take(path.clone(), "lab x").unwrap();
        let [says, patience] = [10, 40].map(Duration::from_millis);
        let mut said = String::new();
        let busy = Lock::wait(path, "lab x", [says, patience], |words| said = words.into());
        assert!(matches!(busy, Err(LabError::Busy { .. })));
        assert!(
            said.contains("another command that works on lab x"),
            "{said}"
        );
    }

    #[test]
    fn a_lock_removed_by_its_holder_is_not_mistaken_for_a_held_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sub").join("x.lock");
        let first = Lock::take(path.clone(), "x").unwrap();
        let waiting = std::thread::spawn({
            let path = path.clone();
            move || Lock::take(path, "x").map(|lock| lock.path.exists())
        });
        std::thread::sleep(Duration::from_millis(60));
        assert!(!waiting.is_finished(), "two holders");
        first.remove();
        assert!(waiting.join().unwrap().unwrap(), "locked a removed file");
    }
}
