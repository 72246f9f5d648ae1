//! Sealing a stream frame by frame, over buffers of any shape.

use crate::buffers::Buffers;
use crate::error::CipherError;
use crate::frames::keys::{FrameNonces, derive};
use crate::frames::{FrameSize, Header};
use crate::gcm::{Nonce, Tag, seal};
use crate::key::Key;
use crate::mode::{Direction, Mode};
use crate::path::DataPath;

/// Seals the frames of one stream, in order.
pub struct FrameSealer {
    header: Header,
    path: DataPath,
    nonces: FrameNonces,
}

impl FrameSealer {
    /// A new stream under `key`. `associated` says what the stream is for; it is not sent, and the
    /// opener must name the same.
    ///
    /// # Errors
    /// [`CipherError::Random`]; [`CipherError::Provider`] when the implementation cannot be set up.
    pub fn new(key: &Key, size: FrameSize, associated: &[u8]) -> Result<Self, CipherError> {
        let mut salt = [0; 32];
        getrandom::fill(&mut salt)?;
        let header = Header {
            key_size: key.size(),
            frame_size: size,
            salt,
        };
        let (own, nonces) = derive(key, &header, associated)?;
        Ok(Self {
            header,
            path: DataPath::new(Mode::Gcm, Direction::Encrypt, &own)?,
            nonces,
        })
    }

    /// What the opener must be given first.
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// Seals the next frame, which must be full: another one follows.
    ///
    /// # Errors
    /// [`CipherError::FrameLength`], [`CipherError::LengthsDiffer`],
    /// [`CipherError::FramesExhausted`], all before anything is done.
    pub fn seal_next<'a, 'b: 'a>(
        &mut self,
        data: impl Into<Buffers<'a, 'b>>,
    ) -> Result<Tag, CipherError> {
        self.frame(data.into(), false)
    }

    /// Seals the last frame, of any length up to the frame size, and ends the stream.
    ///
    /// # Errors
    /// As [`Self::seal_next`].
    pub fn seal_last<'a, 'b: 'a>(
        mut self,
        data: impl Into<Buffers<'a, 'b>>,
    ) -> Result<Tag, CipherError> {
        self.frame(data.into(), true)
    }

    fn frame(&mut self, data: Buffers<'_, '_>, last: bool) -> Result<Tag, CipherError> {
        check_length(&data, &self.header, &self.nonces, last)?;
        let nonce = Nonce(self.nonces.draw(last)?);
        seal(&mut self.path, &nonce, &[], data)
    }
}

/// Every frame but the last is full; the last is at most that.
pub(crate) fn check_length(
    data: &Buffers<'_, '_>,
    header: &Header,
    nonces: &FrameNonces,
    last: bool,
) -> Result<(), CipherError> {
    let (length, size) = (data.extent()?.length, header.frame_size.bytes());
    if length == size || (last && length < size) {
        Ok(())
    } else {
        Err(CipherError::FrameLength {
            index: nonces.next(),
            length,
            size,
        })
    }
}
