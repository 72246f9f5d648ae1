//! What a drill that was killed, or could not heal, may have left behind: told by whoever asks how the cluster stands.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use nix::fcntl::{Flock, FlockArg};

use crate::note::Left;

/// Of drills on real heads, a folder a cluster.
const DRILLS: &str = "/var/lib/hawser/drills";

/// A note is four short lines.
const LARGEST: u64 = 64 << 10;

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
}
