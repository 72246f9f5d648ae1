//! Sealing under a nonce of the caller's choice.
//!
//! For known-answer tests, for measuring, and for protocols that prescribe the nonce. Whoever seals
//! two different messages under one key and nonce has given away both and the power to forge more;
//! nothing here prevents it.

use crate::buffers::Buffers;
use crate::error::CipherError;
use crate::gcm::{Nonce, Sealer, Tag};
use crate::key::Key;
use crate::mode::{Direction, Mode};
use crate::path::DataPath;

/// A key that seals under nonces it is told. [`crate::gcm::SealingKey`] is the safe one.
pub struct NonceChoosingKey {
    path: DataPath,
}

impl NonceChoosingKey {
    /// A sealer with `key`.
    ///
    /// # Errors
    /// [`CipherError::Provider`] when the implementation cannot be set up (out of memory).
    pub fn new(key: &Key) -> Result<Self, CipherError> {
        Ok(Self {
            path: DataPath::new(Mode::Gcm, Direction::Encrypt, key)?,
        })
    }

    /// [`crate::gcm::SealingKey::seal`] under `nonce`.
    ///
    /// # Errors
    /// Those of [`crate::gcm::SealingKey::seal`].
    pub fn seal<'a, 'b: 'a>(
        &mut self,
        nonce: [u8; 12],
        associated: &[u8],
        data: impl Into<Buffers<'a, 'b>>,
    ) -> Result<Tag, CipherError> {
        crate::gcm::seal(&mut self.path, &Nonce(nonce), associated, data.into())
    }

    /// [`crate::gcm::SealingKey::sealer`] under `nonce`.
    ///
    /// # Errors
    /// Those of [`crate::gcm::SealingKey::sealer`].
    pub fn sealer(
        &mut self,
        nonce: [u8; 12],
        associated: &[u8],
    ) -> Result<Sealer<'_>, CipherError> {
        Sealer::new(&mut self.path, &Nonce(nonce), associated)
    }
}
