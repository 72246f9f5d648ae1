//! What a drill that was killed, or could not heal, may have left behind: told by whoever asks how the cluster stands.

use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use nix::fcntl::{Flock, FlockArg};

/// Of drills on real heads, a folder a cluster.
const DRILLS: &str = "/var/lib/hawser/drills";

/// A note is four short lines.
const LARGEST: u64 = 64 << 10;

/// What a drill that was killed, or could not heal, had written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// The scenario.
    pub scenario: String,
    /// The head that had the pool, which is the one that is hit.
    pub head: String,
    /// The pool that was written to.
    pub pool: String,
    /// What random choices came from.
    pub seed: u64,
}

impl Left {
    /// Reads a note; nothing when it was not finished.
    pub fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines().map(str::to_owned);
        Some(Self {
            scenario: lines.next()?,
            head: lines.next()?,
            pool: lines.next()?,
            seed: lines.next()?.parse().ok()?,
        })
    }
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "an earlier drill was interrupted: {} ({} on {})",
            self.scenario, self.pool, self.head
        )
    }
}

/// Where drills of real heads keep the notes about a cluster.
pub fn notes(cluster: &str) -> PathBuf {
    Path::new(DRILLS).join(cluster)
}

/// What is noted there, and when it was; nothing while a drill runs, which is not killed.
pub fn behind(notes: &Path) -> Option<(Left, SystemTime)> {
    let path = notes.join("drill");
    let kind = fs::symlink_metadata(&path).ok()?;
    if !kind.is_file() || kind.len() > LARGEST {
        return None;
    }
    let text = fs::read_to_string(&path).ok()?;
    // The lock is gone again before anything is said.
    Flock::lock(File::open(&path).ok()?, FlockArg::LockSharedNonblock).ok()?;
    Some((Left::parse(&text)?, kind.modified().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_killed_drill_is_told_and_one_that_runs_is_not() {
        let folder = tempfile::tempdir().unwrap();
        assert!(behind(folder.path()).is_none());
        let path = folder.path().join("drill");
        fs::write(&path, "power-cut\nhead1\nvmpool01\n7\n").unwrap();
        let running = Flock::lock(File::open(&path).unwrap(), FlockArg::LockExclusiveNonblock);
        assert!(behind(folder.path()).is_none());
        drop(running);
        let (left, _) = behind(folder.path()).unwrap();
        assert_eq!((&*left.scenario, &*left.head), ("power-cut", "head1"));
        fs::write(&path, "power-cut\n").unwrap();
        assert!(behind(folder.path()).is_none(), "it had done nothing yet");
    }

    #[test]
    fn a_note_says_which_drill_was_killed() {
        let left = Left::parse("power-cut\nhead1\nvmpool01\n7\n").unwrap();
        assert_eq!(
            left.to_string(),
            "an earlier drill was interrupted: power-cut (vmpool01 on head1)"
        );
        assert_eq!(left.seed, 7);
        assert_eq!(Left::parse("power-cut\nhead1\n"), None);
        assert_eq!(Left::parse(""), None);
    }
}
