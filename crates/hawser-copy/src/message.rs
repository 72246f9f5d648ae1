//! The few messages beside the data, on the first connection: always encrypted with the run's
//! key, so that neither checksums nor names are shown and nobody can say "done" but the receiver.

use std::io::{Read, Write};

use hawser_cipher::frames::{FrameReader, FrameSize, FrameWriter};

use crate::error::CopyError;
use crate::key::CopyKey;

/// The largest message: a list of all blocks that are there, with room to spare.
const LARGEST: u32 = 4 << 20;

/// Sends a message; `what` it is must be named the same by the reader.
pub(crate) fn send(
    mut to: impl Write,
    peer: &str,
    key: &CopyKey,
    what: &str,
    message: &[u8],
) -> Result<(), CopyError> {
    let cipher = |source| CopyError::Cipher { stream: 0, source };
    let failed = |source| CopyError::connection("send message", peer)(source);
    let size = FrameSize::DEFAULT;
    let key = key.of_messages().map_err(cipher)?;
    let mut writer = FrameWriter::new(Vec::new(), &key, size, what.as_bytes()).map_err(failed)?;
    let sealed = writer
        .write_all(message)
        .and_then(|()| writer.finish())
        .map_err(failed)?;
    let mut bytes = (sealed.len() as u32).to_le_bytes().to_vec();
    bytes.extend(sealed);
    to.write_all(&bytes).map_err(failed)
}

/// Receives a message.
pub(crate) fn receive(
    mut from: impl Read,
    peer: &str,
    key: &CopyKey,
    what: &str,
) -> Result<Vec<u8>, CopyError> {
    let failed = |source| CopyError::connection("receive message", peer)(source);
    let mut length = [0; 4];
    from.read_exact(&mut length).map_err(failed)?;
    let length = u32::from_le_bytes(length);
    if length > LARGEST {
        return Err(CopyError::Protocol {
            peer: peer.to_owned(),
            what: format!("a message of {length} bytes"),
        });
    }
    let mut sealed = vec![0; length as usize];
    from.read_exact(&mut sealed).map_err(failed)?;
    let cipher = |source| CopyError::Cipher { stream: 0, source };
    let key = key.of_messages().map_err(cipher)?;
    let mut message = Vec::new();
    FrameReader::new(&sealed[..], &key, what.as_bytes())
        .and_then(|mut reader| reader.read_to_end(&mut message))
        .map_err(|source| CopyError::Protocol {
            peer: peer.to_owned(),
            what: format!("{what}: {source}"),
        })?;
    Ok(message)
}

/// What the sender offers first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Offer {
    /// Length of the source.
    pub(crate) size: u64,
    /// Its permissions; absent for devices and memory.
    pub(crate) mode: Option<u32>,
}

impl Offer {
    pub(crate) const NAME: &str = "offer";

    pub(crate) fn to_bytes(self) -> Vec<u8> {
        let mut bytes = self.size.to_le_bytes().to_vec();
        bytes.extend(self.mode.unwrap_or(u32::MAX).to_le_bytes());
        bytes
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (size, mode) = bytes.split_at_checked(8)?;
        let mode = u32::from_le_bytes(mode.try_into().ok()?);
        Some(Self {
            size: u64::from_le_bytes(size.try_into().ok()?),
            mode: (mode != u32::MAX).then_some(mode),
        })
    }
}

/// Blocks with their checksums: what the receiver has already.
pub(crate) const HAVE: &str = "have";

/// Every byte has come.
pub(crate) const HERE: &str = "here";

/// What became of the source, after the last byte.
pub(crate) const SOURCE: &str = "source";

/// The source may be put in place.
pub(crate) const GOOD: &[u8] = &[0];

/// It was changed, and is not to be.
pub(crate) const CHANGED: &[u8] = &[1];

/// The checksum of the whole, when everything is in place.
pub(crate) const DONE: &str = "done";

/// A list of blocks as bytes.
pub(crate) fn list_to_bytes<'a>(list: impl Iterator<Item = (&'a u64, &'a u128)>) -> Vec<u8> {
    list.flat_map(|(index, digest)| index.to_le_bytes().into_iter().chain(digest.to_le_bytes()))
        .collect()
}

/// And back. What is left over at the end is not a block.
pub(crate) fn list_from_bytes(bytes: &[u8]) -> impl Iterator<Item = (u64, u128)> + '_ {
    bytes.chunks_exact(24).map(|entry| {
        let (index, digest) = entry.split_at(8);
        (
            u64::from_le_bytes(index.try_into().expect("eight bytes")),
            u128::from_le_bytes(digest.try_into().expect("sixteen bytes")),
        )
    })
}
