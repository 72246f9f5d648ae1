//! Opening: verifying and decrypting.

use crate::buffers::Buffers;
use crate::error::CipherError;
use crate::gcm::seal::begin;
use crate::gcm::{Limit, Tag, Verifier};
use crate::key::Key;
use crate::mode::{Direction, Mode};
use crate::path::DataPath;

/// A key that opens sealed messages.
pub struct OpeningKey {
    path: DataPath,
}

impl OpeningKey {
    /// An opener with `key`.
    ///
    /// # Errors
    /// [`CipherError::Provider`] when the implementation cannot be set up (out of memory).
    pub fn new(key: &Key) -> Result<Self, CipherError> {
        Ok(Self {
            path: DataPath::new(Mode::Gcm, Direction::Decrypt, key)?,
        })
    }

    /// Opens a whole message into the caller's buffer. While it runs nobody else can read that
    /// buffer (it is borrowed); when the tag does not match, it is zeroed before it is given back.
    ///
    /// # Errors
    /// [`CipherError::Forged`] when the tag does not match. [`CipherError::LengthsDiffer`] and
    /// [`CipherError::GcmLimit`], before anything is done.
    pub fn open<'a, 'b: 'a>(
        &mut self,
        nonce: [u8; 12],
        associated: &[u8],
        data: impl Into<Buffers<'a, 'b>>,
        tag: &Tag,
    ) -> Result<(), CipherError> {
        let mut data = data.into();
        let extent = self.path.accepts(&data)?;
        Limit::default().book(extent.length)?;
        begin(&mut self.path, nonce, associated)?;
        let opened = match self.path.run(data.reborrow(), &extent) {
            Ok(()) => self.path.engine.check(&tag.0),
            Err(error) => Err(error),
        };
        match opened {
            Ok(true) => Ok(()),
            Ok(false) => {
                data.erase_output();
                Err(CipherError::Forged)
            }
            Err(error) => {
                data.erase_output();
                Err(error)
            }
        }
    }

    /// Begins the first of two passes over a message that is too large for a buffer: it reads the
    /// ciphertext and releases nothing.
    ///
    /// # Errors
    /// [`CipherError::Provider`] when the implementation refuses.
    pub fn verifier(
        &mut self,
        nonce: [u8; 12],
        associated: &[u8],
    ) -> Result<Verifier<'_>, CipherError> {
        Verifier::new(&mut self.path, nonce, associated)
    }

    /// Has `hook` run after each [`crate::CHUNK`] of work.
    pub fn between_chunks(&mut self, hook: impl FnMut() + Send + Sync + 'static) {
        self.path.between.set(hook);
    }
}
