//! The cipher of one stream, at either end.

use hawser_cipher::frames::{FrameOpener, FrameSealer, FrameSize, Header};
use hawser_cipher::gcm::Tag;
use hawser_cipher::{Cipher, CipherError, Direction, Iv, Key};
use hawser_model::copy::CopyCipher;
use hawser_model::ladder::CipherMode;

use crate::key::CopyKey;

/// The sending end's.
pub(crate) enum Sealer {
    /// Frames that authenticate themselves and their order; `None` after the last one.
    Frames(Box<Option<FrameSealer>>),
    /// A mode that authenticates nothing.
    Bare(Box<Cipher>),
}

/// The receiving end's.
pub(crate) enum Opener {
    Frames(Box<Option<FrameOpener>>),
    Bare(Box<Cipher>),
}

/// A bare mode, in one direction.
fn bare(
    cipher: CopyCipher,
    direction: Direction,
    key: &Key,
) -> Result<Option<Cipher>, CipherError> {
    // The key is fresh for each run and encrypts this one stream.
    let iv = Iv::new([0; 16]);
    match cipher.choice().mode {
        CipherMode::Gcm => Ok(None),
        CipherMode::Ctr => Cipher::ctr(key, iv).map(Some),
        CipherMode::Cbc => Cipher::cbc(direction, key, iv).map(Some),
    }
}

impl Sealer {
    /// For one stream, and what goes before its first frame.
    pub(crate) fn new(
        key: &CopyKey,
        cipher: CopyCipher,
        chunk: u32,
        stream: u32,
    ) -> Result<(Self, Vec<u8>), CipherError> {
        let key = key.of_stream(cipher, stream)?;
        if let Some(bare) = bare(cipher, Direction::Encrypt, &key)? {
            return Ok((Self::Bare(Box::new(bare)), Vec::new()));
        }
        let size = FrameSize::new(chunk as usize)?;
        let frames = FrameSealer::new(&key, size, &stream.to_be_bytes())?;
        let header = frames.header().to_bytes().to_vec();
        Ok((Self::Frames(Box::new(Some(frames))), header))
    }

    /// Encrypts a frame in place; `tag` is filled where the mode has one.
    pub(crate) fn seal(
        &mut self,
        last: bool,
        text: &mut [u8],
        tag: &mut [u8],
    ) -> Result<(), CipherError> {
        let frames = match self {
            Self::Bare(cipher) => return cipher.update(text),
            Self::Frames(frames) => frames,
        };
        let made = match last {
            true => frames
                .take()
                .ok_or(CipherError::FramesExhausted)?
                .seal_last(text)?,
            false => frames
                .as_mut()
                .as_mut()
                .ok_or(CipherError::FramesExhausted)?
                .seal_next(text)?,
        };
        tag.copy_from_slice(&made.0);
        Ok(())
    }
}

impl Opener {
    /// Bytes that go before the first frame.
    pub(crate) fn preamble(cipher: CopyCipher) -> usize {
        match cipher.choice().mode {
            CipherMode::Gcm => Header::LENGTH,
            CipherMode::Ctr | CipherMode::Cbc => 0,
        }
    }

    /// For one stream that began with `preamble`.
    pub(crate) fn new(
        key: &CopyKey,
        cipher: CopyCipher,
        stream: u32,
        preamble: &[u8],
    ) -> Result<Self, CipherError> {
        let key = key.of_stream(cipher, stream)?;
        if let Some(bare) = bare(cipher, Direction::Decrypt, &key)? {
            return Ok(Self::Bare(Box::new(bare)));
        }
        let header = preamble
            .try_into()
            .map_err(|_| CipherError::Header("is not there"))?;
        let header = Header::from_bytes(header)?;
        let frames = FrameOpener::new(&key, &header, &stream.to_be_bytes())?;
        Ok(Self::Frames(Box::new(Some(frames))))
    }

    /// Decrypts a frame in place, and checks its tag where the mode has one.
    pub(crate) fn open(
        &mut self,
        last: bool,
        text: &mut [u8],
        tag: [u8; 16],
    ) -> Result<(), CipherError> {
        let frames = match self {
            Self::Bare(cipher) => return cipher.update(text),
            Self::Frames(frames) => frames,
        };
        match last {
            true => frames
                .take()
                .ok_or(CipherError::FramesExhausted)?
                .open_last(text, &Tag(tag)),
            false => frames
                .as_mut()
                .as_mut()
                .ok_or(CipherError::FramesExhausted)?
                .open_next(text, &Tag(tag)),
        }
    }
}
