//! The threads of the kernel's NFS server end; `rpc.mountd` and the exports stay.

use std::fs;
use std::path::{Path, PathBuf};

use hawser_files::replace;

use crate::exports::nfs::reclaim::start;
use crate::exports::nfs::server::{NFSD, NfsError, served};
use crate::host::NodeError;

/// How many there were, while they are gone.
const NOTE: &str = "/run/hawser/drill-nfs-threads";

struct Threads {
    file: PathBuf,
    note: PathBuf,
    start: fn(&Path, u32) -> Result<(), NodeError>,
}

/// Nothing below this root is exported by NFS.
pub(super) fn unfit(root: &str) -> Result<Option<String>, NodeError> {
    let failed = |error: NfsError| NodeError::Tool {
        command: "exportfs -s".to_owned(),
        said: error.to_string(),
    };
    let exported = served().map_err(failed)?;
    let none = !exported
        .keys()
        .any(|(path, _)| Path::new(path).starts_with(root));
    Ok(none.then(|| format!("nothing below {root} is exported by NFS")))
}

pub(super) fn make() -> Result<(), NodeError> {
    Threads::of_this_host().make()
}

pub(super) fn shown() -> Result<Option<String>, NodeError> {
    Threads::of_this_host().shown()
}

pub(super) fn mend() -> Result<(), NodeError> {
    Threads::of_this_host().mend()
}

impl Threads {
    fn of_this_host() -> Self {
        Self {
            file: Path::new(NFSD).join("threads"),
            note: NOTE.into(),
            start: |_, threads| {
                start(threads).map_err(|error| NodeError::Tool {
                    command: "rpc.nfsd".to_owned(),
                    said: error.to_string(),
                })
            },
        }
    }

    /// Noted first: whenever this is killed, what is noted is what there was.
    fn make(&self) -> Result<(), NodeError> {
        let running = self.running()?;
        if running == 0 {
            return Err(NodeError::Tool {
                command: self.file.display().to_string(),
                said: "the NFS server has no threads already".to_owned(),
            });
        }
        replace(&self.note, running.to_string().as_bytes(), 0o600)?;
        set(&self.file, 0)
    }

    fn shown(&self) -> Result<Option<String>, NodeError> {
        let gone = self.note.exists() && self.running()? == 0;
        Ok(gone.then(|| "the NFS server has no threads".to_owned()))
    }

    /// Gives it as many as there were, unless somebody has started it meanwhile.
    fn mend(&self) -> Result<(), NodeError> {
        let Ok(noted) = fs::read_to_string(&self.note) else {
            return Ok(());
        };
        if self.running()? == 0 {
            (self.start)(&self.file, noted.trim().parse().unwrap_or(8))?;
        }
        hawser_files::remove(&self.note)?;
        Ok(())
    }

    fn running(&self) -> Result<u32, NodeError> {
        let text = fs::read_to_string(&self.file).map_err(NodeError::file("read", &self.file))?;
        Ok(text.trim().parse().unwrap_or(0))
    }
}

fn set(file: &Path, threads: u32) -> Result<(), NodeError> {
    fs::write(file, format!("{threads}\n")).map_err(NodeError::file("write", file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_threads_come_back_as_there_were() {
        let folder = tempfile::tempdir().unwrap();
        let threads = Threads {
            file: folder.path().join("threads"),
            note: folder.path().join("note"),
            start: set,
        };
        let there = || fs::read_to_string(&threads.file).unwrap();
        fs::write(&threads.file, "12\n").unwrap();
        threads.mend().unwrap();
        assert_eq!((there().as_str(), threads.shown().unwrap()), ("12\n", None));
        threads.make().unwrap();
        assert_eq!(there(), "0\n");
        assert!(threads.shown().unwrap().is_some());
        assert!(
            threads.make().is_err(),
            "twice would forget how many there were"
        );
        threads.mend().unwrap();
        assert_eq!((there().as_str(), threads.shown().unwrap()), ("12\n", None));
        // Somebody else was faster.
        threads.make().unwrap();
        fs::write(&threads.file, "4\n").unwrap();
        threads.mend().unwrap();
        assert_eq!(there(), "4\n");
        assert!(!threads.note.exists());
    }
}
