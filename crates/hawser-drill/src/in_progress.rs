//! What is being done to a cluster, written down before it is done: a drill that was killed is taken back
//! by the next one. It also lets one drill at a time into a lab, or
//! at a cluster from this machine.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, Write};
use std::path::PathBuf;

use nix::fcntl::{Flock, FlockArg};

use crate::context::DrillContext;
use crate::error::DrillError;
use crate::left::Left;
use crate::scenario::Scenario;
use crate::whole::power_everywhere;

/// The note of a running drill.
pub(crate) struct InProgress {
    path: PathBuf,
    _file: Flock<File>,
}

impl InProgress {
    /// Takes the cluster.
    ///
    /// # Errors
    /// Another drill has it, or the note cannot be written.
    pub(crate) fn begin(context: &DrillContext<'_>, scenario: &str) -> Result<Self, DrillError> {
        let note = Self::take(context)?;
        let text = format!(
            "{scenario}\n{}\n{}\n{}\n",
            context.active, context.pool, context.seed
        );
        let mut file = &*note._file;
        file.set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| file.write_all(text.as_bytes()))
            .and_then(|()| file.sync_data())
            .map_err(|e| DrillError::io("write", note.path.display(), e))?;
        Ok(note)
    }

    fn take(context: &DrillContext<'_>) -> Result<Self, DrillError> {
        let path = context.folder()?.join("drill");
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false);
        let file = file
            .open(&path)
            .map_err(|e| DrillError::io("open", path.display(), e))?;
        let busy = || DrillError::CouldNot("another drill of this cluster is running".into());
        let file = Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|_| busy())?;
        // One that has just ended may have removed what was opened.
        hawser_files::is_at(&file, &path).map_err(|_| busy())?;
        Ok(Self { path, _file: file })
    }

    /// Everything was healed.
    pub(crate) fn end(self) {
        let _gone_with_the_lab = fs::remove_file(&self.path);
    }
}

/// A drill that was killed, or could not heal, and whose faults are taken back. Its note stays until the cluster
/// is seen to be whole: whoever is killed before that leaves it to the next one.
pub struct TakenBack {
    /// Which drill it was.
    pub left: Left,
    note: InProgress,
}

impl TakenBack {
    /// The cluster is whole.
    pub fn end(self) {
        self.note.end();
    }
}

/// Takes back what a drill that was killed, or could not heal, had done; which, if there was one.
///
/// # Errors
/// A drill is running; what cannot be healed.
pub fn take_back(context: &mut DrillContext<'_>) -> Result<Option<TakenBack>, DrillError> {
    let path = context.folder()?.join("drill");
    match fs::metadata(&path) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(DrillError::io("look at", path.display(), e)),
        Ok(_) => {}
    }
    let note = InProgress::take(context)?;
    let mut text = String::new();
    (&*note._file)
        .read_to_string(&mut text)
        .map_err(|e| DrillError::io("read", path.display(), e))?;
    // One that was killed while it wrote its note had done nothing.
    let left = Left::parse(&text);
    let mut healed = Ok(());
    if let Some(left) = &left {
        let (pool, seed) = (context.pool.clone(), context.seed);
        (context.active, context.pool) = (left.head.as_str().into(), left.pool.clone());
        context.seed = left.seed;
        if let Some(scenario) = Scenario::named(&left.scenario) {
            // One that cannot be healed keeps none of the others from it.
            for fault in scenario.plan(context).faults.iter().rev() {
                healed = healed.and(fault.heal(context));
            }
        }
        (context.pool, context.seed) = (pool, seed);
    }
    healed.and(power_everywhere(context))?;
    Ok(match left {
        Some(left) => Some(TakenBack { left, note }),
        None => {
            note.end();
            None
        }
    })
}
