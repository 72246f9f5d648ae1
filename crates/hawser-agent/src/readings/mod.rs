//! The ring of readings on the head's own disk: what a watch has read, second by second, for the time before an incident.
//!
//! It is a folder of parts, each a file of lines ([`line`]) that begins with all that is known. A reading is a line that is
//! on the disk before the next one is read, so a power cut costs the last second; a line that is cut off or damaged costs
//! itself. The newest 24 hours of readings are kept whole; older parts are thinned, then removed, so that all together
//! stay below a limit ([`bounds`]). Age is counted in readings, not by the clock, which may be stepped.

mod alarms;
mod bounds;
mod line;
mod local;
mod window;
mod writer;

pub(crate) use local::read_local;
pub(crate) use writer::Writer;

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use hawser_files::{Expected, FileError, Folder};
use hawser_model::drill::Moment;
use hawser_model::kept_alarms::{FoundAlarms, KeptAlarms};
use hawser_model::readings::{AllNoted, KeptReadings, Reading};
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

use bounds::{PART_BYTES, PART_READINGS, Part};

/// On the head's own disk.
const FOLDER: &str = "/var/lib/hawser/readings";

/// Numbers of parts are below: one an hour is reached never, and a file of a higher number is not ours.
const NUMBERS: u64 = 1_000_000_000_000;

/// Held by the one watch that keeps readings.
const LOCK: &str = "lock";

/// Why readings cannot be kept.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RingError {
    /// A file of it.
    #[error(transparent)]
    File(#[from] FileError),
    /// Another watch keeps them.
    #[error("another watch of this head keeps its readings in {0}")]
    Taken(PathBuf),
    /// The disk does not answer.
    #[error("the disk has not taken what it was given last: it hangs")]
    Hangs,
    /// Nobody has opened it.
    #[error("the ring of readings is not open")]
    Closed,
}

/// The ring, for the one watch that writes it.
#[derive(Debug)]
pub(crate) struct RingOfReadings {
    folder: Folder,
    limit: u64,
    /// All but the one that is written.
    parts: Vec<Part>,
    /// The number of the next one.
    next: u64,
    open: Option<Open>,
    known: AllNoted,
    _lock: Flock<File>,
}

/// The part that is written.
#[derive(Debug)]
struct Open {
    number: u64,
    file: File,
    /// Bytes of whole lines.
    good: u64,
    readings: u64,
    /// What it holds tells all that is known; else the next reading has to be whole.
    complete: bool,
}

impl RingOfReadings {
    /// Opens the ring of this head, of so many bytes, unless that is below one of these folders of pools.
    ///
    /// # Errors
    /// It is on a pool, another watch has it, or it cannot be read.
    pub(crate) fn open(limit: u64, pools: &[String]) -> Result<Self, RingError> {
        Self::open_in(Path::new(FOLDER), limit, pools)
    }

    fn open_in(path: &Path, limit: u64, pools: &[String]) -> Result<Self, RingError> {
        let folder = Folder::on_own_disk(path, pools)?;
        let lock = lock(&folder)?;
        let (mut parts, mut last, mut next) = (Vec::new(), None, 1);
        for (number, thinned) in numbered(&folder)? {
            next = number + 1;
            // A part that is no file of ours is left alone, and not counted.
            let Ok(Some(bytes)) = folder.read(&name(number, thinned), expected()) else {
                continue;
            };
            let read = line::decode(&bytes);
            last = Some((number, thinned, read.whole_bytes));
            parts.push(Part {
                number,
                bytes: bytes.len() as u64,
                readings: read.readings.len() as u64,
                thinned,
            });
        }
        let mut ring = Self {
            folder,
            limit,
            parts,
            next,
            open: None,
            known: AllNoted::new(),
            _lock: lock,
        };
        if let Some((number, false, good)) = last {
            ring.continue_last(number, good)?;
        }
        Ok(ring)
    }

    /// Writes on behind the whole lines of the last part.
    fn continue_last(&mut self, number: u64, good: u64) -> Result<(), RingError> {
        let Some(file) = self.folder.own(&name(number, false))? else {
            return Ok(());
        };
        let last = self.parts.pop();
        self.open = Some(Open {
            number,
            file,
            good,
            readings: last.map_or(0, |part| part.readings),
            complete: false,
        });
        Ok(())
    }

    /// Keeps a reading. It is on the disk when this returns.
    ///
    /// # Errors
    /// The disk does not take it. The next one that it takes tells all that is known by then.
    pub(crate) fn keep(&mut self, reading: &Reading) -> Result<(), RingError> {
        reading.apply(&mut self.known);
        if self
            .open
            .as_ref()
            .is_none_or(|it| it.is_full() || it.is_cut())
        {
            self.begin()?;
        }
        let Some(open) = &mut self.open else {
            return Err(RingError::Closed);
        };
        let line = match open.complete {
            true => line::encode(reading),
            false => line::encode(&Reading {
                stepped_us: reading.stepped_us,
                ..Reading::whole(reading.at, &self.known)
            }),
        };
        let path = self.folder.path().join(name(open.number, false));
        open.write(&line).map_err(FileError::io("write", path))?;
        Ok(())
    }

    /// What the watch before this one kept.
    fn alarms(&self) -> FoundAlarms {
        alarms::read(&self.folder)
    }

    /// Keeps the alarms of this one.
    fn keep_alarms(&self, alarms: &KeptAlarms) -> Result<(), RingError> {
        Ok(alarms::keep(&self.folder, alarms)?)
    }

    /// Begins a new part, and makes room for it.
    fn begin(&mut self) -> Result<(), RingError> {
        let last = self.open.take();
        self.parts.extend(last.map(|open| Part {
            number: open.number,
            bytes: open.good,
            readings: open.readings,
            thinned: false,
        }));
        self.make_room()?;
        let number = self.next;
        let file = self.folder.create(&name(number, false))?;
        self.next += 1;
        self.folder.sync()?;
        self.open = Some(Open {
            number,
            file,
            good: 0,
            readings: 0,
            complete: false,
        });
        Ok(())
    }

    fn make_room(&mut self) -> Result<(), RingError> {
        while let Some(at) = bounds::to_thin(&self.parts, self.limit) {
            // One that cannot be thinned, on a full disk, counts as thinned: it goes when its turn comes.
            let part = &mut self.parts[at];
            part.thinned = true;
            if let Ok(bytes) = thin(&self.folder, part.number) {
                part.bytes = bytes;
            }
        }
        while bounds::too_much(&self.parts, self.limit) {
            let part = self.parts.remove(0);
            for thinned in [true, false] {
                self.folder.remove(&name(part.number, thinned))?;
            }
        }
        Ok(())
    }
}

impl Open {
    fn is_full(&self) -> bool {
        self.readings >= PART_READINGS || self.good >= PART_BYTES
    }

    /// Whether somebody has cut or removed the file: what comes would follow the rest of a line.
    fn is_cut(&self) -> bool {
        let file = self.file.metadata();
        let is = |file: Metadata| file.len() < self.good || file.nlink() == 0;
        file.is_ok_and(|file| file.is_file() && is(file))
    }

    fn write(&mut self, line: &str) -> std::io::Result<()> {
        if !self.complete {
            // What a write that failed, or a power cut, has left behind the last whole line.
            self.file.set_len(self.good)?;
        }
        self.complete = false;
        self.file.seek(SeekFrom::Start(self.good))?;
        self.file.write_all(line.as_bytes())?;
        self.file.sync_data()?;
        self.good += line.len() as u64;
        self.readings += 1;
        self.complete = true;
        Ok(())
    }
}

/// The readings of some time in this head's ring, by its own clock. A head without a ring has none.
///
/// # Errors
/// The ring cannot be read.
fn read(from: Moment, to: Moment) -> Result<KeptReadings, FileError> {
    read_in(Path::new(FOLDER), from, to)
}

fn read_in(folder: &Path, from: Moment, to: Moment) -> Result<KeptReadings, FileError> {
    let folder = match Folder::open(folder) {
        Err(e)
            if e.os()
                .is_some_and(|e| e.kind() == std::io::ErrorKind::NotFound) =>
        {
            return Ok(KeptReadings::default());
        }
        outcome => outcome?,
    };
    let mut window = window::Window::new(from, to);
    for (number, thinned) in numbered(&folder)? {
        // One that is thinned or removed meanwhile has the other name, or is gone.
        let forms = [(thinned, name(number, thinned)), (true, name(number, true))];
        let mut found = forms.into_iter().filter_map(|(thinned, name)| {
            let bytes = folder.read(&name, expected()).ok().flatten()?;
            Some((thinned, line::decode(&bytes)))
        });
        if let Some((thinned, read)) = found.next() {
            window.part(thinned, read);
        }
    }
    Ok(window.finish())
}

/// Writes a part again with what is left of it; how long it is then.
fn thin(folder: &Folder, number: u64) -> Result<u64, FileError> {
    let Some(bytes) = folder.read(&name(number, false), expected())? else {
        return Ok(0);
    };
    let left = bounds::thinned(&line::decode(&bytes).readings);
    let text: String = left.iter().map(line::encode).collect();
    folder.replace(&name(number, true), text.as_bytes(), 0o600)?;
    folder.remove(&name(number, false))?;
    Ok(text.len() as u64)
}

fn lock(folder: &Folder) -> Result<Flock<File>, RingError> {
    let name = OsStr::new(LOCK);
    let file = match folder.own(name)? {
        Some(file) => file,
        None => folder.create(name)?,
    };
    let path = folder.path().join(LOCK);
    Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|(_, errno)| match errno {
        Errno::EWOULDBLOCK => RingError::Taken(folder.path().to_owned()),
        errno => FileError::io("lock", path)(errno).into(),
    })
}

/// `00000012.full`, `00000003.thin`.
fn name(number: u64, thinned: bool) -> OsString {
    let form = if thinned { "thin" } else { "full" };
    format!("{number:08}.{form}").into()
}

/// The parts, oldest first. Of one that was just thinned both forms may be there: the thinned one is whole.
fn numbered(folder: &Folder) -> Result<Vec<(u64, bool)>, FileError> {
    let parsed = |file: OsString| {
        let (number, form) = file.to_str()?.split_once('.')?;
        let number: u64 = number.parse().ok()?;
        let thinned = form == "thin";
        let ours = number < NUMBERS && name(number, thinned) == file;
        ours.then_some((number, thinned))
    };
    let mut all: Vec<(u64, bool)> = folder.names()?.into_iter().filter_map(parsed).collect();
    all.sort_by_key(|(number, thinned)| (*number, !thinned));
    all.dedup_by_key(|(number, _)| *number);
    Ok(all)
}

/// A part is no larger than its bounds and one reading.
fn expected() -> Expected {
    Expected::own(8 * PART_BYTES)
}

#[cfg(test)]
mod tests;
