//! The unit that goes through the stages: a buffer of records.
//!
//! On the wire a frame is four bytes (its length, and the top bit in the last one), then its body:
//! records as they are, or, encrypted, one frame of [`hawser_cipher::frames`] and its tag. A record
//! is a header of 24 bytes (kind, offset, length; little-endian) and what belongs to it.

use hawser_cipher::frames::TAG;

use crate::storage::ALIGNMENT;

/// Length of a record's header.
pub(crate) const HEADER: usize = 24;

/// Length of a block's checksum.
pub(crate) const DIGEST: usize = 16;

/// Length of the frame's own prefix.
pub(crate) const PREFIX: usize = 4;

/// Bytes that AES encrypts at once.
const CIPHER_BLOCK: usize = 16;

/// In the prefix of the last frame of a stream.
const LAST: u32 = 1 << 31;

/// What a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(crate) enum Kind {
    /// Data of the current block; follows.
    Data = 1,
    /// A hole in the current block.
    Hole = 2,
    /// The block with this offset ends; its checksum follows.
    BlockEnd = 3,
    /// Whole blocks that are holes.
    EmptyBlocks = 4,
    /// A block that the receiver has already.
    Kept = 5,
    /// Data that follows the frame, outside of it, for `splice`.
    Raw = 6,
    /// The stream ends.
    End = 7,
}

impl Kind {
    fn from_number(number: u64) -> Option<Self> {
        [
            Self::Data,
            Self::Hole,
            Self::BlockEnd,
            Self::EmptyBlocks,
            Self::Kept,
            Self::Raw,
            Self::End,
        ]
        .into_iter()
        .find(|kind| *kind as u64 == number)
    }
}

/// A record as it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record<'a> {
    pub(crate) kind: Kind,
    pub(crate) offset: u64,
    pub(crate) length: u64,
    pub(crate) payload: &'a [u8],
}

/// A frame being filled or worked off.
pub(crate) struct Frame {
    /// Prefix, body, room for a tag. The payload of a data record that comes first begins a page.
    memory: Vec<u8>,
    start: usize,
    length: usize,
    /// Length of the body that is used.
    used: usize,
    /// No frame follows.
    pub(crate) last: bool,
    /// Bytes of the source in it, or announced by it.
    pub(crate) data: u64,
    /// Where in the source the raw data begins that follows it, and how long it is.
    pub(crate) raw: Option<(u64, u64)>,
}

impl Frame {
    /// An empty frame for `size` bytes of body.
    pub(crate) fn new(size: usize) -> Self {
        let length = PREFIX + size + TAG;
        let memory = vec![0; length + ALIGNMENT];
        // `align_offset` of the payload, which is behind a prefix and a header.
        let payload = memory[PREFIX + HEADER..].as_ptr();
        Self {
            start: payload.align_offset(ALIGNMENT).min(ALIGNMENT),
            memory,
            length,
            used: 0,
            last: false,
            data: 0,
            raw: None,
        }
    }

    pub(crate) fn clear(&mut self) {
        self.used = 0;
        self.last = false;
        self.data = 0;
        self.raw = None;
    }

    /// Bytes of body it can hold.
    pub(crate) fn size(&self) -> usize {
        self.length - PREFIX - TAG
    }

    fn bytes(&self) -> &[u8] {
        &self.memory[self.start..][..self.length]
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..][..self.length]
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// Bytes of body that are free.
    pub(crate) fn room(&self) -> usize {
        self.size() - self.used
    }

    /// Adds a header.
    pub(crate) fn put(&mut self, kind: Kind, offset: u64, length: u64) {
        for number in [kind as u64, offset, length] {
            self.put_bytes(&number.to_le_bytes());
        }
    }

    /// Adds what belongs to a header.
    pub(crate) fn put_bytes(&mut self, bytes: &[u8]) {
        let at = PREFIX + self.used;
        self.bytes_mut()[at..at + bytes.len()].copy_from_slice(bytes);
        self.used += bytes.len();
    }

    /// Adds a data record of `length` bytes and gives its payload to be filled.
    pub(crate) fn put_data(&mut self, offset: u64, length: usize) -> &mut [u8] {
        self.put(Kind::Data, offset, length as u64);
        let at = PREFIX + self.used;
        self.used += length;
        self.data += length as u64;
        &mut self.bytes_mut()[at..at + length]
    }

    /// Fills the body with nothing as far as a cipher needs it: a frame that is not the last is
    /// full, the last one has whole blocks.
    pub(crate) fn pad_to_seal(&mut self) {
        let end = match self.last {
            true => self.used.next_multiple_of(CIPHER_BLOCK).min(self.size()),
            false => self.size(),
        };
        let used = self.used;
        self.bytes_mut()[PREFIX + used..PREFIX + end].fill(0);
        self.used = end;
    }

    /// The body that is used, and the room for its tag.
    pub(crate) fn sealing(&mut self) -> (&mut [u8], &mut [u8]) {
        let used = self.used;
        let (text, rest) = self.bytes_mut()[PREFIX..].split_at_mut(used);
        (text, &mut rest[..TAG])
    }

    /// All that goes to the wire; `tag` when the body is followed by one.
    pub(crate) fn wire(&mut self, tag: bool) -> &[u8] {
        let length = self.used as u32 | if self.last { LAST } else { 0 };
        self.bytes_mut()[..PREFIX].copy_from_slice(&length.to_le_bytes());
        &self.bytes()[..PREFIX + self.used + if tag { TAG } else { 0 }]
    }

    /// Takes a prefix from the wire and gives the part to be read next.
    pub(crate) fn expect(&mut self, prefix: [u8; PREFIX], tag: bool) -> Option<&mut [u8]> {
        let word = u32::from_le_bytes(prefix);
        self.clear();
        self.last = word & LAST != 0;
        self.used = (word & !LAST) as usize;
        if self.used > self.size() {
            return None;
        }
        let end = PREFIX + self.used + if tag { TAG } else { 0 };
        Some(&mut self.bytes_mut()[PREFIX..end])
    }

    /// Its records, up to the padding. An error says what is wrong.
    pub(crate) fn records(&self) -> impl Iterator<Item = Result<Record<'_>, &'static str>> {
        let mut rest = &self.bytes()[PREFIX..PREFIX + self.used];
        std::iter::from_fn(move || {
            if rest.len() < HEADER {
                return None;
            }
            let number =
                |at: usize| u64::from_le_bytes(rest[at..at + 8].try_into().expect("eight bytes"));
            let (kind, offset, length) = (number(0), number(8), number(16));
            if kind == 0 {
                return None;
            }
            let Some(kind) = Kind::from_number(kind) else {
                rest = &[];
                return Some(Err("a record of a kind that is not known"));
            };
            let follows = match kind {
                Kind::Data => length,
                Kind::BlockEnd => DIGEST as u64,
                _ => 0,
            };
            let body = &rest[HEADER..];
            if follows > body.len() as u64 {
                rest = &[];
                return Some(Err("a record that is longer than its frame"));
            }
            let (payload, after) = body.split_at(follows as usize);
            rest = after;
            Some(Ok(Record {
                kind,
                offset,
                length,
                payload,
            }))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_as_they_were_put() {
        let mut frame = Frame::new(256);
        frame.put_data(4096, 3).copy_from_slice(b"abc");
        frame.put(Kind::Hole, 4099, 77);
        frame.put(Kind::BlockEnd, 4096, 0);
        frame.put_bytes(&7_u128.to_le_bytes());
        frame.pad_to_seal();
        let wire = frame.wire(false).to_vec();
        let mut read = Frame::new(256);
        let prefix = wire[..PREFIX].try_into().unwrap();
        read.expect(prefix, false)
            .unwrap()
            .copy_from_slice(&wire[PREFIX..]);
        let records: Vec<_> = read.records().map(Result::unwrap).collect();
        assert_eq!(records.len(), 3);
        assert_eq!(records[0].payload, b"abc");
        assert_eq!((records[1].kind, records[1].length), (Kind::Hole, 77));
        assert_eq!(records[2].payload, 7_u128.to_le_bytes());
    }

    #[test]
    fn nonsense_is_an_error_and_never_a_panic() {
        let mut frame = Frame::new(64);
        frame.put(Kind::Data, 0, u64::MAX);
        assert!(frame.records().next().unwrap().is_err());
        frame.clear();
        frame.put_bytes(&99_u64.to_le_bytes());
        frame.put_bytes(&[0; 16]);
        assert!(frame.records().next().unwrap().is_err());
        assert!(frame.expect([255, 255, 255, 127], false).is_none());
    }
}
