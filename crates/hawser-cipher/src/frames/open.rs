//! Opening a stream frame by frame, over buffers of any shape.

use crate::buffers::Buffers;
use crate::error::CipherError;
use crate::frames::Header;
use crate::frames::keys::{FrameNonces, derive};
use crate::frames::seal::check_length;
use crate::gcm::{OpeningKey, Tag};
use crate::key::Key;

/// Opens the frames of one stream, in order. After a frame that does not open, none does.
pub struct FrameOpener {
    header: Header,
    key: OpeningKey,
    nonces: FrameNonces,
    broken: Option<CipherError>,
}

impl FrameOpener {
    /// The stream that `header` begins.
    ///
    /// # Errors
    /// [`CipherError::Header`] when it was not written with a key of this size.
    pub fn new(key: &Key, header: &Header, associated: &[u8]) -> Result<Self, CipherError> {
        if header.key_size != key.size() {
            return Err(CipherError::Header(
                "was written with a key of another size",
            ));
        }
        let (own, nonces) = derive(key, header, associated)?;
        Ok(Self {
            header: *header,
            key: OpeningKey::new(&own)?,
            nonces,
            broken: None,
        })
    }

    /// What the stream said of itself.
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// Opens the next frame, which another one follows.
    ///
    /// # Errors
    /// [`CipherError::FrameForged`] when it is not the one that was sealed at this place as not the
    /// last; the output is zeroed. [`CipherError::FrameLength`] and [`CipherError::LengthsDiffer`],
    /// before anything is done.
    pub fn open_next<'a, 'b: 'a>(
        &mut self,
        data: impl Into<Buffers<'a, 'b>>,
        tag: &Tag,
    ) -> Result<(), CipherError> {
        self.frame(data.into(), tag, false)
    }

    /// Opens the last frame. The stream is whole only when this was done.
    ///
    /// # Errors
    /// As [`Self::open_next`]; a stream that was cut, or goes on, is [`CipherError::FrameForged`].
    pub fn open_last<'a, 'b: 'a>(
        mut self,
        data: impl Into<Buffers<'a, 'b>>,
        tag: &Tag,
    ) -> Result<(), CipherError> {
        self.frame(data.into(), tag, true)
    }

    /// The number of the next frame.
    pub(crate) const fn next(&self) -> u64 {
        self.nonces.next()
    }

    /// Opens a frame that is or is not the last.
    pub(crate) fn frame(
        &mut self,
        data: Buffers<'_, '_>,
        tag: &Tag,
        last: bool,
    ) -> Result<(), CipherError> {
        if let Some(error) = &self.broken {
            return Err(error.clone());
        }
        check_length(&data, &self.header, &self.nonces, last)?;
        let index = self.nonces.next();
        let nonce = self.nonces.draw(last)?;
        let opened = self
            .key
            .open(nonce, &[], data, tag)
            .map_err(|error| match error {
                CipherError::Forged => CipherError::FrameForged { index, last },
                other => other,
            });
        if let Err(error) = &opened {
            self.broken = Some(error.clone());
        }
        opened
    }
}
