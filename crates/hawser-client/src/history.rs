//! The history: what the client did and what it was told, in the order in which it learned it.
//!
//! A file of records of 32 bytes, little-endian, only ever appended to: kind (1 byte), writer (1),
//! path (1), flags (1), block (4), sequence (8), time (8, microseconds since 1970, of a clock that
//! is not stepped), and a value whose meaning the kind gives (8). The first record is a
//! [`Kind::Start`]. A last record that is not whole is that of a client that was killed.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::mpsc::Sender;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::word::Word;

/// Bytes in a record.
pub const RECORD: usize = 32;

/// What a record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum Kind {
    /// A run begins: `sequence` is its number, `block` how many blocks it writes to, `flags` has
    /// [`CACHE`] when the volume says that it has a volatile write cache.
    Start = 1,
    /// A write is sent for the first time.
    Write = 2,
    /// It was acknowledged; `value` is how long that took in microseconds.
    Acknowledged = 3,
    /// A flush is sent; `sequence` is its number.
    Flush = 4,
    /// It was acknowledged.
    Flushed = 5,
    /// A read is sent.
    Read = 6,
    /// What it found: `sequence`, or [`TORN`] or [`NOTHING`] in `flags`.
    Found = 7,
    /// The path was lost, and with it the answer to everything that was sent on it.
    PathLost = 8,
    /// An address accepted a connection.
    Connected = 9,
    /// The client is logged in there and sends again what had no answer.
    PathUp = 10,
    /// The volume said no; it is asked again.
    Refused = 11,
    /// The writers have ended; reads after this are the reading back of every block.
    Final = 12,
    /// A file was created beside what is written to, and removed; `value` is how long that took in microseconds.
    Created = 13,
}

/// A write that the volume must have on stable storage before it acknowledges it (FUA).
pub const FUA: u8 = 1;
/// The volume has a volatile write cache: what was not flushed may be lost with its head.
pub const CACHE: u8 = 1;
/// The block was found torn.
pub const TORN: u8 = 1;
/// Nothing of this run was found.
pub const NOTHING: u8 = 2;

/// A line of the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// What it says.
    pub kind: Kind,
    /// Who says it.
    pub writer: u8,
    /// Which path it went over.
    pub path: u8,
    /// See the kind.
    pub flags: u8,
    /// The address, in blocks.
    pub block: u32,
    /// The number of the write, of the flush or of what was found.
    pub sequence: u64,
    /// When, in microseconds since 1970.
    pub at_us: u64,
    /// See the kind.
    pub value: u64,
}

impl Record {
    /// A record without an address.
    pub fn new(kind: Kind, writer: u8) -> Self {
        Self {
            kind,
            writer,
            path: 0,
            flags: 0,
            block: 0,
            sequence: 0,
            at_us: 0,
            value: 0,
        }
    }

    /// Whether an order was obeyed that clients wait for: a write, or the creation of a file.
    pub fn is_progress(&self) -> bool {
        matches!(self.kind, Kind::Acknowledged | Kind::Created)
    }

    fn bytes(&self) -> [u8; RECORD] {
        let mut bytes = [0; RECORD];
        bytes[..4].copy_from_slice(&[self.kind as u8, self.writer, self.path, self.flags]);
        bytes[4..8].copy_from_slice(&self.block.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.at_us.to_le_bytes());
        bytes[24..].copy_from_slice(&self.value.to_le_bytes());
        bytes
    }

    /// Reads one; `None`: it is of no kind there is, or not whole.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        if bytes.len() < RECORD {
            return None;
        }
        let long = |at: usize| bytes[at..at + 8].try_into().map(u64::from_le_bytes);
        Some(Self {
            kind: kind(bytes[0])?,
            writer: bytes[1],
            path: bytes[2],
            flags: bytes[3],
            block: u32::from_le_bytes(bytes[4..8].try_into().ok()?),
            sequence: long(8).ok()?,
            at_us: long(16).ok()?,
            value: long(24).ok()?,
        })
    }
}

fn kind(number: u8) -> Option<Kind> {
    use Kind::*;
    let all = [
        Start,
        Write,
        Acknowledged,
        Flush,
        Flushed,
        Read,
        Found,
        PathLost,
        Connected,
        PathUp,
        Refused,
        Final,
        Created,
    ];
    all.into_iter().find(|kind| *kind as u8 == number)
}

/// As records have it.
pub(crate) fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// Why a history cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// The file.
    #[error("read the history {path}: {source}")]
    Io {
        /// Which.
        path: String,
        /// The system's answer.
        source: io::Error,
    },
    /// It is none.
    #[error("{path} is no history: record {record} is of kind {found}; kinds are 1 to 13")]
    Kind {
        /// Which.
        path: String,
        /// The record, from 0.
        record: usize,
        /// What is there.
        found: u8,
    },
}

/// Reads a history.
///
/// # Errors
/// It cannot be read, or it is none.
pub fn load(path: &Path) -> Result<Vec<Record>, HistoryError> {
    let shown = || path.display().to_string();
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|mut file| file.read_to_end(&mut bytes))
        .map_err(|source| HistoryError::Io {
            path: shown(),
            source,
        })?;
    let records = bytes.chunks_exact(RECORD).enumerate();
    let parsed = records.map(|(record, bytes)| {
        Record::parse(bytes).ok_or_else(|| HistoryError::Kind {
            path: shown(),
            record,
            found: bytes[0],
        })
    });
    parsed.collect()
}

/// Appends to a history. Shared by all writers: the order of the records is the order in which
/// the client learned things.
#[derive(Debug)]
pub struct Log {
    sink: Mutex<Sink>,
    began: Instant,
    began_us: u64,
}

/// Where a history goes.
#[derive(Debug)]
enum Sink {
    File(File),
    Report(Sender<Word>),
}

impl Log {
    /// A new history. Words beside it go to standard error.
    ///
    /// # Errors
    /// The file cannot be made.
    pub fn create(path: &Path) -> io::Result<Self> {
        Ok(Self::new(Sink::File(File::create(path)?)))
    }

    /// A history that somebody listens to.
    pub fn report(to: Sender<Word>) -> Self {
        Self::new(Sink::Report(to))
    }

    fn new(sink: Sink) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            sink: Mutex::new(sink),
            began: Instant::now(),
            began_us: since.map_or(0, micros),
        }
    }

    /// What its clock shows.
    pub fn now_us(&self) -> u64 {
        self.began_us.saturating_add(micros(self.began.elapsed()))
    }

    /// Appends a record and gives it the time.
    ///
    /// # Errors
    /// The history cannot be written, or nobody listens: then nothing can be promised, and the client must stop.
    pub fn put(&self, record: Record) -> io::Result<()> {
        let mut sink = self.sink();
        let at_us = self.now_us();
        let record = Record { at_us, ..record };
        match &mut *sink {
            Sink::File(file) => file.write_all(&record.bytes()),
            Sink::Report(to) => {
                let sent = to.send(Word::Record(record));
                sent.map_err(|_| io::ErrorKind::BrokenPipe.into())
            }
        }
    }

    /// Says something that is not of the history.
    pub fn say(&self, word: Word) {
        match (&*self.sink(), word) {
            // Who has gone hears nothing; the next record tells.
            (Sink::Report(to), word) => drop(to.send(word)),
            (Sink::File(_), Word::Said(words)) => eprintln!("{words}"),
            (Sink::File(_), Word::LoginRefused { portal, why }) => eprintln!("{portal}: {why}"),
            (Sink::File(_), _) => {}
        }
    }

    fn sink(&self) -> MutexGuard<'_, Sink> {
        self.sink.lock().unwrap_or_else(|e| e.into_inner())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_half_a_record_is_left_out() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let log = Log::create(file.path()).unwrap();
        let write = Record {
            path: 1,
            flags: FUA,
            block: 70_000,
            sequence: 1 << 40,
            value: 99,
            ..Record::new(Kind::Write, 3)
        };
        log.put(write).unwrap();
        log.put(Record::new(Kind::Final, 0)).unwrap();
        let mut half = std::fs::OpenOptions::new();
        let mut half = half.append(true).open(file.path()).unwrap();
        half.write_all(&[2, 0, 0]).unwrap();
        let read = load(file.path()).unwrap();
        assert_eq!(read.len(), 2);
        assert!(read[0].at_us > 0 && read[0].at_us <= read[1].at_us);
        assert_eq!(
            Record {
                at_us: 0,
                ..read[0]
            },
            write
        );
    }

    #[test]
    fn another_file_is_no_history() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), [200; 64]).unwrap();
        let error = load(file.path()).unwrap_err().to_string();
        assert!(error.contains("kind 200"), "{error}");
    }
}
