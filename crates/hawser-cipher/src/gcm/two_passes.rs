//! Opening a message that is larger than memory: verify first, release after.

use std::io::{self, IoSlice, Read, Seek, SeekFrom, Write};

use zeroize::Zeroizing;

use crate::Buffers;
use crate::chunks::CHUNK;
use crate::error::CipherError;
use crate::gcm::seal::begin;
use crate::gcm::{Limit, OpeningKey, Tag};
use crate::path::DataPath;
use crate::scatter::Cursor;

/// The first pass: reads all of the ciphertext, gives nothing back.
///
/// What it decrypts on the way (the implementations have no call that only authenticates) goes to a
/// buffer of its own that is overwritten and, at the end, erased.
pub struct Verifier<'k> {
    path: &'k mut DataPath,
    nonce: [u8; 12],
    associated: Vec<u8>,
    limit: Limit,
    discarded: Zeroizing<Box<[u8]>>,
}

impl<'k> Verifier<'k> {
    pub(crate) fn new(
        path: &'k mut DataPath,
        nonce: [u8; 12],
        associated: &[u8],
    ) -> Result<Self, CipherError> {
        begin(path, nonce, associated)?;
        Ok(Self {
            path,
            nonce,
            associated: associated.to_vec(),
            limit: Limit::default(),
            discarded: Zeroizing::new(vec![0; CHUNK].into_boxed_slice()),
        })
    }

    /// The next part of the ciphertext.
    ///
    /// # Errors
    /// [`CipherError::GcmLimit`], before anything is done.
    pub fn update(&mut self, ciphertext: &[u8]) -> Result<(), CipherError> {
        self.limit.book(ciphertext.len())?;
        for part in ciphertext.chunks(CHUNK) {
            let discarded = &mut self.discarded[..part.len()];
            self.path.next((part, discarded).into())?;
        }
        Ok(())
    }

    /// The next part of the ciphertext, in pieces.
    ///
    /// # Errors
    /// [`CipherError::GcmLimit`], before anything is done.
    pub fn update_scattered(&mut self, ciphertext: &[IoSlice<'_>]) -> Result<(), CipherError> {
        let mut left = ciphertext.iter().map(|piece| piece.len()).sum::<usize>();
        self.limit.book(left)?;
        let mut place = Cursor::default();
        while left > 0 {
            let part = left.min(CHUNK);
            let discarded = &mut self.discarded[..part];
            place.gather(ciphertext, discarded);
            self.path.next(discarded.into())?;
            left -= part;
        }
        Ok(())
    }

    /// Ends the pass. With the right tag the message may be released, in a second pass over the same
    /// ciphertext.
    ///
    /// # Errors
    /// [`CipherError::Forged`] when the tag does not match.
    pub fn verify(self, tag: &Tag) -> Result<Releaser<'k>, CipherError> {
        if !self.path.engine.check(&tag.0)? {
            return Err(CipherError::Forged);
        }
        begin(self.path, self.nonce, &self.associated)?;
        Ok(Releaser {
            path: self.path,
            tag: *tag,
            limit: Limit::default(),
        })
    }
}

/// The second pass: decrypts what was verified.
///
/// The ciphertext must not change between the passes: keep it where nobody else writes. The second
/// pass authenticates again, so a change is noticed by [`Releaser::finish`], after the fact.
pub struct Releaser<'k> {
    path: &'k mut DataPath,
    tag: Tag,
    limit: Limit,
}

impl Releaser<'_> {
    /// The next part.
    ///
    /// # Errors
    /// [`CipherError::LengthsDiffer`] and [`CipherError::GcmLimit`], before anything is done.
    pub fn update<'a, 'b: 'a>(
        &mut self,
        data: impl Into<Buffers<'a, 'b>>,
    ) -> Result<(), CipherError> {
        let data = data.into();
        let extent = self.path.accepts(&data)?;
        self.limit.book(extent.length)?;
        self.path.run(data, &extent)
    }

    /// Ends the pass.
    ///
    /// # Errors
    /// [`CipherError::ChangedBetweenPasses`]: what was released is not what had been verified, or not
    /// all of it was.
    pub fn finish(self) -> Result<(), CipherError> {
        if self.path.engine.check(&self.tag.0)? {
            Ok(())
        } else {
            Err(CipherError::ChangedBetweenPasses)
        }
    }
}

impl OpeningKey {
    /// Opens `length` bytes of ciphertext at the present place of `source` into `sink`, reading them
    /// twice, with a buffer of [`CHUNK`] bytes whatever the length. Nothing is written before all of
    /// it is verified. Afterwards `source` stands behind the ciphertext.
    ///
    /// # Errors
    /// Those of `source` and `sink`; a [`CipherError`] as the inner error of one of kind
    /// `InvalidData`.
    pub fn open_in_two_passes(
        &mut self,
        nonce: [u8; 12],
        associated: &[u8],
        tag: &Tag,
        length: u64,
        source: &mut (impl Read + Seek),
        sink: &mut impl Write,
    ) -> io::Result<()> {
        let start = source.stream_position()?;
        let mut buffer = Zeroizing::new(vec![0; CHUNK]);
        let mut verifier = self.verifier(nonce, associated)?;
        each_chunk(source, length, &mut buffer, |part| {
            Ok(verifier.update(part)?)
        })?;
        let mut releaser = verifier.verify(tag)?;
        source.seek(SeekFrom::Start(start))?;
        each_chunk(source, length, &mut buffer, |part| {
            releaser.update(&mut *part)?;
            sink.write_all(part)
        })?;
        Ok(releaser.finish()?)
    }
}

fn each_chunk(
    source: &mut impl Read,
    mut left: u64,
    buffer: &mut [u8],
    mut each: impl FnMut(&mut [u8]) -> io::Result<()>,
) -> io::Result<()> {
    while left > 0 {
        let part = usize::try_from(left)
            .unwrap_or(usize::MAX)
            .min(buffer.len());
        source.read_exact(&mut buffer[..part])?;
        each(&mut buffer[..part])?;
        left -= part as u64;
    }
    Ok(())
}
