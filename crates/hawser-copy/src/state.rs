//! What of a destination is complete, kept beside it so that a copy can go on where it was.
//!
//! A header (magic, size of the source, size of a block), then a record a block in the order in
//! which they came: its number and its checksum. A record is written after its block was. Nothing
//! here is believed when the copy goes on: the receiver reads each block again, and the sender
//! compares with its own source.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Write};
use std::sync::{Mutex, PoisonError};

use hawser_files::{Existing, Folder};

use crate::error::CopyError;
use crate::message::list_from_bytes;
use crate::plan::Blocks;

const MAGIC: [u8; 8] = *b"HWSRPRT1";

/// All records of a copy with the most blocks, and as many again of one that was begun anew.
const MOST: u64 = 4 << 20;

/// The file, open for records.
pub(crate) struct State {
    shown: String,
    file: Mutex<File>,
}

impl State {
    /// The blocks that an earlier run noted for a source with blocks of this size, none when there was
    /// none.
    pub(crate) fn read(
        folder: &Folder,
        name: &OsStr,
        blocks: Blocks,
    ) -> Result<HashMap<u64, u128>, CopyError> {
        let Some(file) = folder.own(name)? else {
            return Ok(HashMap::new());
        };
        let mut bytes = Vec::new();
        let read = file.take(MOST).read_to_end(&mut bytes);
        let wanted = header(blocks);
        // A source that grew has the same blocks up to there.
        let same = |found: &[u8]| found[..8] == wanted[..8] && found[16..] == wanted[16..];
        Ok(match bytes.split_at_checked(wanted.len()) {
            Some((found, records)) if read.is_ok() && same(found) => list_from_bytes(records)
                .filter(|(index, _)| *index < blocks.count())
                .collect(),
            _ => HashMap::new(),
        })
    }

    /// Begins a new file with these blocks.
    pub(crate) fn create(
        folder: &Folder,
        name: &OsStr,
        blocks: Blocks,
        have: &HashMap<u64, u128>,
    ) -> Result<Self, CopyError> {
        let shown = folder.path().join(name).display().to_string();
        let mut bytes = header(blocks).to_vec();
        bytes.extend(crate::message::list_to_bytes(have.iter()));
        let fresh = folder.fresh()?;
        fresh
            .file()
            .write_all(&bytes)
            .map_err(CopyError::file("write", &shown))?;
        Ok(Self {
            file: Mutex::new(fresh.place(name, Existing::Replaced)?),
            shown,
        })
    }

    /// Notes a block.
    pub(crate) fn note(&self, index: u64, digest: u128) -> Result<(), CopyError> {
        let mut record = [0; 24];
        record[..8].copy_from_slice(&index.to_le_bytes());
        record[8..].copy_from_slice(&digest.to_le_bytes());
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(&record)
            .map_err(CopyError::file("write", &self.shown))
    }
}

fn header(blocks: Blocks) -> [u8; 24] {
    let mut header = [0; 24];
    header[..8].copy_from_slice(&MAGIC);
    header[8..16].copy_from_slice(&blocks.size.to_le_bytes());
    header[16..].copy_from_slice(&blocks.block.to_le_bytes());
    header
}
