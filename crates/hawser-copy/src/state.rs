//! What of a destination is complete, kept beside it so that a copy can go on where it was.
//!
//! A header (magic, size of the source, size of a block), then a record a block in the order in
//! which they came: its number and its checksum. A record is written after its block was. Nothing
//! here is believed when the copy goes on: the receiver reads each block again, and the sender
//! compares with its own source.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::error::CopyError;
use crate::message::list_from_bytes;
use crate::plan::Blocks;

const MAGIC: [u8; 8] = *b"HWSRPRT1";

/// The file, open for records.
pub(crate) struct State {
    path: PathBuf,
    file: Mutex<File>,
}

impl State {
    /// The blocks that an earlier run noted for a source of this size, none when there was none
    /// or it was another source.
    pub(crate) fn read(path: &Path, blocks: Blocks) -> HashMap<u64, u128> {
        let mut bytes = Vec::new();
        let read = File::open(path).and_then(|mut file| file.read_to_end(&mut bytes));
        match bytes.split_at_checked(header(blocks).len()) {
            Some((found, records)) if read.is_ok() && found == header(blocks) => {
                list_from_bytes(records)
                    .filter(|(index, _)| *index < blocks.count())
                    .collect()
            }
            _ => HashMap::new(),
        }
    }

    /// Begins a new file with these blocks.
    pub(crate) fn create(
        path: &Path,
        blocks: Blocks,
        have: &HashMap<u64, u128>,
    ) -> Result<Self, CopyError> {
        let failed = |call| CopyError::file(call, path.display());
        let mut file = File::create(path).map_err(failed("create"))?;
        let mut bytes = header(blocks).to_vec();
        bytes.extend(crate::message::list_to_bytes(have.iter()));
        file.write_all(&bytes).map_err(failed("write"))?;
        Ok(Self {
            path: path.to_owned(),
            file: Mutex::new(file),
        })
    }

    /// Notes a block.
    pub(crate) fn note(&self, index: u64, digest: u128) -> Result<(), CopyError> {
        let mut record = [0; 24];
        record[..8].copy_from_slice(&index.to_le_bytes());
        record[8..].copy_from_slice(&digest.to_le_bytes());
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(&record)
            .map_err(CopyError::file("write", self.path.display()))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

fn header(blocks: Blocks) -> [u8; 24] {
    let mut header = [0; 24];
    header[..8].copy_from_slice(&MAGIC);
    header[8..16].copy_from_slice(&blocks.size.to_le_bytes());
    header[16..].copy_from_slice(&blocks.block.to_le_bytes());
    header
}
