//! One start or stop at a time: tgtd's target numbers and accounts are shared by all pools. Who only looks
//! waits for a change to end, or learns whose it is.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use hawser_files::FileError;
use hawser_tool::Deadline;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

/// How long who waits for somebody else pauses before the next look.
pub const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Held until it is dropped or its process ends.
#[derive(Debug)]
pub struct Lock(Flock<File>);

/// A change that is under way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// The pool whose exports are changed.
    pub pool: String,
    /// The process that does it.
    pub pid: u32,
    /// For how many seconds so far.
    pub seconds: u64,
}

/// What one who looks gets.
#[derive(Debug)]
pub enum Look {
    /// Nobody changes anything while this is held. `None`: nobody ever did.
    Quiet(Option<Lock>),
    /// Somebody does.
    Changing(Change),
}

impl Lock {
    /// Waits for it, to change the exports of a pool. It lies in `folder`.
    pub fn wait(folder: &Path, pool: &str) -> Result<Self, FileError> {
        let path = folder.join("lock");
        let made = fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder);
        made.map_err(FileError::io("create the folder of", &path))?;
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(FileError::io("open", &path))?;
        let locked = Flock::lock(file, FlockArg::LockExclusive);
        let mut lock = locked.map_err(|(_, errno)| FileError::io("lock", &path)(errno))?;
        // What a holder that was killed has left is nobody's now, and gone before anything else is done.
        lock.set_len(0).map_err(FileError::io("truncate", &path))?;
        let text = format!("{} {} {pool}\n", std::process::id(), uptime());
        // It says whose the lock is, and does not make it so: a full /run keeps nobody from stopping.
        let _unsaid = lock.write_all(text.as_bytes());
        Ok(Self(lock))
    }

    /// Keeps changes away while somebody looks, unless one is under way. Those that are `waited_for` may end until then.
    pub fn share_by(
        until: Deadline,
        folder: &Path,
        waited_for: impl Fn(&Change) -> bool,
    ) -> Result<Look, FileError> {
        let waits = |look: &Look| matches!(look, Look::Changing(change) if waited_for(change));
        let mut look = Ok(Look::Quiet(None));
        until.holds(LOOK_AGAIN, || {
            look = Self::share(folder);
            !look.as_ref().is_ok_and(waits)
        });
        look
    }

    fn share(folder: &Path) -> Result<Look, FileError> {
        let path = folder.join("lock");
        let file = match File::open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Look::Quiet(None)),
            file => file.map_err(FileError::io("open", &path))?,
        };
        match Flock::lock(file, FlockArg::LockSharedNonblock) {
            Ok(lock) => Ok(Look::Quiet(Some(Self(lock)))),
            Err((mut file, Errno::EWOULDBLOCK)) => {
                let mut text = String::new();
                file.read_to_string(&mut text)
                    .map_err(FileError::io("read", &path))?;
                Ok(Look::Changing(change(&text)))
            }
            Err((_, errno)) => Err(FileError::io("lock", &path)(errno)),
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Whoever looks while the next holder is about to write must not read of this one. Who only looked cannot
        // write, and has written nothing.
        let _ = self.0.set_len(0);
    }
}

/// What its holder wrote; nothing known when he is just about to.
fn change(text: &str) -> Change {
    let mut words = text.trim_end().splitn(3, ' ');
    let mut number = || words.next().and_then(|word| word.parse::<u64>().ok());
    let (pid, since) = (number(), number());
    Change {
        pool: words.next().unwrap_or_default().to_owned(),
        pid: pid.and_then(|pid| u32::try_from(pid).ok()).unwrap_or(0),
        seconds: since.map_or(0, |since| uptime().saturating_sub(since)),
    }
}

/// Seconds since boot: no clock that somebody sets.
fn uptime() -> u64 {
    let text = fs::read_to_string("/proc/uptime").unwrap_or_default();
    let seconds = text.split('.').next().and_then(|text| text.parse().ok());
    seconds.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_looks_learns_whose_change_is_under_way() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(Lock::share(folder.path()), Ok(Look::Quiet(None))));
        let lock = Lock::wait(folder.path(), "my pool").unwrap();
        let Ok(Look::Changing(change)) = Lock::share(folder.path()) else {
            panic!("a change is under way");
        };
        assert_eq!(
            (change.pool.as_str(), change.pid),
            ("my pool", std::process::id())
        );
        drop(lock);
        assert_eq!(
            fs::read_to_string(folder.path().join("lock")).unwrap(),
            "",
            "nothing of it is left for the next one"
        );
        let one = Lock::share(folder.path());
        assert!(matches!(one, Ok(Look::Quiet(Some(_)))));
        assert!(
            matches!(Lock::share(folder.path()), Ok(Look::Quiet(Some(_)))),
            "two may look"
        );
    }
}
