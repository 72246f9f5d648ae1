//! Sealing: encrypting and authenticating.

use crate::buffers::Buffers;
use crate::error::CipherError;
use crate::gcm::{Limit, Nonce, NonceSequence, Tag};
use crate::key::Key;
use crate::mode::{Direction, Mode};
use crate::path::DataPath;

/// What goes with a sealed message: needed to open it, and not secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sealed {
    /// The nonce it was sealed with.
    pub nonce: [u8; 12],
    /// Its tag.
    pub tag: Tag,
}

/// A key that seals messages, each under a nonce of its own.
///
/// ```
/// # use hawser_cipher::*;
/// # use hawser_cipher::gcm::*;
/// # fn main() -> Result<(), CipherError> {
/// let key = Key::generate(KeySize::Aes128)?;
/// let mut opening = OpeningKey::new(&key)?;
/// let mut sealing = SealingKey::new(key, NonceSequence::new(*b"hd-a"))?;
///
/// let mut text = *b"to be kept, and kept whole";
/// let sealed = sealing.seal(b"sector 7", &mut text[..])?;
/// opening.open(sealed.nonce, b"sector 7", &mut text[..], &sealed.tag)?;
/// assert_eq!(&text, b"to be kept, and kept whole");
/// # Ok(())
/// # }
/// ```
pub struct SealingKey {
    path: DataPath,
    nonces: NonceSequence,
}

impl SealingKey {
    /// Takes the key for good, so that no second sequence can be set on it by mistake. Make the
    /// [`crate::gcm::OpeningKey`] first where both are wanted.
    ///
    /// ```compile_fail,E0382
    /// # use hawser_cipher::{Key, KeySize, gcm::{NonceSequence, SealingKey}};
    /// let key = Key::generate(KeySize::Aes128).unwrap();
    /// let one = SealingKey::new(key, NonceSequence::new([0; 4]));
    /// let other = SealingKey::new(key, NonceSequence::new([0; 4])); // would repeat the nonces of one
    /// ```
    ///
    /// # Errors
    /// [`CipherError::Provider`] when the implementation cannot be set up (out of memory).
    pub fn new(key: Key, nonces: NonceSequence) -> Result<Self, CipherError> {
        Ok(Self {
            path: DataPath::new(Mode::Gcm, Direction::Encrypt, &key)?,
            nonces,
        })
    }

    /// Seals a whole message. `associated` is authenticated and not encrypted; the opener must have
    /// the same.
    ///
    /// # Errors
    /// [`CipherError::LengthsDiffer`], [`CipherError::GcmLimit`], [`CipherError::NoncesExhausted`],
    /// all before anything is done.
    pub fn seal<'a, 'b: 'a>(
        &mut self,
        associated: &[u8],
        data: impl Into<Buffers<'a, 'b>>,
    ) -> Result<Sealed, CipherError> {
        let nonce = self.nonces.draw()?;
        let tag = seal(&mut self.path, &nonce, associated, data.into())?;
        Ok(Sealed {
            nonce: nonce.bytes(),
            tag,
        })
    }

    /// Begins a message that comes in parts. A sealer that is dropped has used up its nonce.
    ///
    /// # Errors
    /// [`CipherError::NoncesExhausted`].
    pub fn sealer(&mut self, associated: &[u8]) -> Result<Sealer<'_>, CipherError> {
        let nonce = self.nonces.draw()?;
        Sealer::new(&mut self.path, &nonce, associated)
    }

    /// Has `hook` run after each [`crate::CHUNK`] of work.
    pub fn between_chunks(&mut self, hook: impl FnMut() + Send + Sync + 'static) {
        self.path.between.set(hook);
    }
}

/// Seals a whole message on `path`, which must be one of GCM encryption.
pub(crate) fn seal(
    path: &mut DataPath,
    nonce: &Nonce,
    associated: &[u8],
    data: Buffers<'_, '_>,
) -> Result<Tag, CipherError> {
    let extent = path.accepts(&data)?;
    Limit::default().book(extent.length)?;
    begin(path, nonce.bytes(), associated)?;
    path.run(data, &extent)?;
    Ok(Tag(path.engine.tag()?))
}

/// Begins a message in either direction.
pub(crate) fn begin(
    path: &mut DataPath,
    nonce: [u8; 12],
    associated: &[u8],
) -> Result<(), CipherError> {
    path.start(&nonce)?;
    if associated.is_empty() {
        Ok(())
    } else {
        path.engine.associate(associated)
    }
}

/// A message being sealed in parts of any length.
pub struct Sealer<'k> {
    path: &'k mut DataPath,
    nonce: [u8; 12],
    limit: Limit,
}

impl<'k> Sealer<'k> {
    pub(crate) fn new(
        path: &'k mut DataPath,
        nonce: &Nonce,
        associated: &[u8],
    ) -> Result<Self, CipherError> {
        begin(path, nonce.bytes(), associated)?;
        Ok(Self {
            path,
            nonce: nonce.bytes(),
            limit: Limit::default(),
        })
    }

    /// The nonce of this message.
    pub const fn nonce(&self) -> [u8; 12] {
        self.nonce
    }

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

    /// Ends the message.
    ///
    /// # Errors
    /// [`CipherError::Provider`] when the implementation refuses.
    pub fn finish(self) -> Result<Sealed, CipherError> {
        Ok(Sealed {
            nonce: self.nonce,
            tag: Tag(self.path.engine.tag()?),
        })
    }
}
